select priority, date_trunc('quarter', ordered_on) as quarter, count(*) as orders,
    sum(case when late_lines > 0 then 1 else 0 end) as late
from {{ ref('int_orders') }} group by priority, date_trunc('quarter', ordered_on)
