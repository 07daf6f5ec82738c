with open as (
    select
        invoices.customer,
        invoices.amount - coalesce(paid.amount, 0) as amount,
        datediff(date '{{ var("closing_day") }}', invoices.due_on) as days
    from {{ source('raw', 'invoices') }} as invoices
    left join (
        select invoice, sum(amount) as amount from {{ source('raw', 'payments') }} group by invoice
    ) as paid on paid.invoice = invoices.id
    where invoices.amount > coalesce(paid.amount, 0)
)

select customer, count(*) as invoices, {{ aged('days', 'amount') }}, sum(amount) as total
from open
group by customer
having sum(amount) > 1
