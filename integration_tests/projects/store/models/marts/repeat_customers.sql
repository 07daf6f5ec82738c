select customer_id, order_id, ordered_on, nth, datediff(ordered_on, previous_on) as days_since_previous
from (
    select
        customer_id,
        order_id,
        ordered_on,
        row_number() over (partition by customer_id order by ordered_at, order_id) as nth,
        lag(ordered_on) over (partition by customer_id order by ordered_at, order_id) as previous_on
    from {{ ref('stg_orders') }}
)
where nth > 1
