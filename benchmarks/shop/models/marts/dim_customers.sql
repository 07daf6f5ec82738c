select c.customer_id, c.name, c.segment, c.nation, c.region, c.balance, coalesce(o.orders, 0) as orders,
    coalesce(o.spent, 0) as spent, o.first_ordered_on, o.last_ordered_on,
    case when o.spent > 2000000 then 'gold' when o.spent > 500000 then 'silver' else 'bronze' end as tier
from {{ ref('int_customers') }} c left join {{ ref('int_customer_orders') }} o using (customer_id)
