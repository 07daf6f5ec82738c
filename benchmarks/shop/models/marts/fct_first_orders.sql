select order_id, customer_id, ordered_on, total
from {{ ref('int_order_sequence') }} where nth = 1
