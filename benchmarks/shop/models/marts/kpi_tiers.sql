select tier, segment, count(*) as customers, sum(spent) as spent
from {{ ref('dim_customers') }} group by tier, segment
