select region, count(*) as customers, sum(spent) as spent, max(orders) as most_orders
from {{ ref('dim_customers') }} group by region
