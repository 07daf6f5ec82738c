-- DISTINCT: a row leaves only when the last sale of the part to the segment is gone.
SELECT DISTINCT
    line_items.part_id,
    customers.market_segment
FROM {{ ref('stg_tpch__line_items') }} AS line_items
INNER JOIN {{ ref('stg_tpch__orders') }} AS orders
    ON line_items.order_id = orders.order_id
INNER JOIN {{ ref('stg_tpch__customers') }} AS customers
    ON orders.customer_id = customers.customer_id
