select order_id, customer_id, ordered_on, total,
    row_number() over (partition by customer_id order by ordered_on, order_id) as nth,
    lag(ordered_on) over (partition by customer_id order by ordered_on, order_id) as previous_on,
    sum(total) over (partition by customer_id order by ordered_on, order_id
        rows between unbounded preceding and current row) as spent_so_far
from {{ ref('stg_orders') }}
