select order_id, count(*) as lines, sum(quantity) as quantity, sum(revenue) as revenue,
    sum(revenue * (1 + tax)) as charge, max(shipped_on) as last_shipped_on, max(received_on) as last_received_on,
    count_if(received_on > promised_on) as late_lines, count_if(return_flag = 'R') as returned_lines
from {{ ref('stg_lines') }} group by order_id
