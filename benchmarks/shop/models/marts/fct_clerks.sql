select clerk, count(*) as orders, sum(total) as total, count(distinct customer_id) as customers
from {{ ref('stg_orders') }} group by clerk
