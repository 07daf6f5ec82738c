select count(*) as orders, sum(total) as total, sum(revenue) as revenue, max(ordered_on) as last_on
from {{ ref('int_orders') }}
