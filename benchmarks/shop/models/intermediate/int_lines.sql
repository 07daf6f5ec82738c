select l.order_id, l.line, l.part_id, l.supplier_id, l.quantity, l.price, l.revenue, l.return_flag,
    l.shipped_on, l.received_on, l.promised_on, l.ship_mode, o.customer_id, o.ordered_on, o.status
from {{ ref('stg_lines') }} l join {{ ref('stg_orders') }} o using (order_id)
