select order_id, customer_id, total, ordered_on
from {{ ref('stg_orders') }} order by total desc, order_id limit 100
