select nation, customer_id, spent, rank() over (partition by nation order by spent desc) as place
from {{ ref('dim_customers') }}
