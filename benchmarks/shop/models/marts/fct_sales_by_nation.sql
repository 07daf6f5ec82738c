select c.region, c.nation, year(o.ordered_on) as year, count(*) as orders, sum(o.revenue) as revenue
from {{ ref('int_orders') }} o join {{ ref('int_customers') }} c using (customer_id)
group by c.region, c.nation, year(o.ordered_on)
