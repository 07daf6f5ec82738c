select customer_id, count(*) as gaps, sum(datediff(ordered_on, previous_on)) as days,
    max(datediff(ordered_on, previous_on)) as longest
from {{ ref('int_order_sequence') }} where previous_on is not null group by customer_id
