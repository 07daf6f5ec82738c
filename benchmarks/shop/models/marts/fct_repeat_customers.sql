select customer_id, max(nth) as orders, max(spent_so_far) as spent
from {{ ref('int_order_sequence') }} group by customer_id having max(nth) >= 10
