select r.customer_id, c.name, c.nation, sum(r.revenue) as lost
from {{ ref('int_returns') }} r join {{ ref('int_customers') }} c using (customer_id)
group by r.customer_id, c.name, c.nation
