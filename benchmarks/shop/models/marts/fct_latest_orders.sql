select customer_id, order_id, ordered_on, total
from {{ ref('stg_orders') }}
qualify row_number() over (partition by customer_id order by ordered_on desc, order_id desc) <= 3
