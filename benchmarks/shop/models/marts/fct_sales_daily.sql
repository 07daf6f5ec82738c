select ordered_on, count(*) as orders, sum(total) as total, sum(revenue) as revenue, sum(lines) as lines
from {{ ref('int_orders') }} group by ordered_on
