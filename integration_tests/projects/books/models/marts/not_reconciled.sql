-- Paid and not in the books, or in the books and not paid; and invoices that two payments claim.
(
    select invoice, amount from {{ source('raw', 'payments') }}
    except all
    select version, -booked from {{ ref('fct_lines') }} where account = 1200 and booked < 0
)
union all
select invoice, max(amount) from {{ source('raw', 'payments') }} as p
where exists (
    select 1 from {{ source('raw', 'payments') }} as other where other.invoice = p.invoice and other.id <> p.id
)
group by invoice
