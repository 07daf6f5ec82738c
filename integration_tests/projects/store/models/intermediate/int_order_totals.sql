select
    order_id,
    count(*) as lines,
    sum(quantity) as pieces,
    sum(quantity * price) as total
from {{ ref('stg_order_items') }}
group by order_id
