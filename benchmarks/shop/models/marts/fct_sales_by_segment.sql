select c.segment, date_trunc('month', o.ordered_on) as month, count(*) as orders, sum(o.total) as total,
    max(o.total) as largest
from {{ ref('stg_orders') }} o join {{ ref('stg_customers') }} c using (customer_id)
group by c.segment, date_trunc('month', o.ordered_on)
