select order_id, customer_id, ordered_on, total, revenue
from {{ ref('int_orders') }} where status = 'O' and late_lines > 0
