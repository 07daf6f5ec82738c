select c.customer_id, c.name, c.balance
from {{ ref('stg_customers') }} c left anti join {{ ref('stg_orders') }} o on o.customer_id = c.customer_id
