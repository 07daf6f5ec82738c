select o.order_id, o.customer_id, o.status, o.total, o.ordered_on, o.priority, o.clerk,
    coalesce(t.lines, 0) as lines, t.quantity, t.revenue, t.charge, t.last_shipped_on, t.last_received_on,
    coalesce(t.late_lines, 0) as late_lines, coalesce(t.returned_lines, 0) as returned_lines
from {{ ref('stg_orders') }} o left join {{ ref('int_order_totals') }} t using (order_id)
