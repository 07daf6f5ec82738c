select customer_id, count(*) as orders, sum(total) as spent, min(ordered_on) as first_ordered_on,
    max(ordered_on) as last_ordered_on, count_if(status = 'O') as open_orders
from {{ ref('stg_orders') }} group by customer_id
