select customer, sum(amount) as invoiced, max(due_on) as last_due
from {{ source('raw', 'invoices') }}
group by customer
order by invoiced desc, customer
limit 3
