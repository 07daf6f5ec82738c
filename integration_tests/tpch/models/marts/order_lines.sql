-- The wide table for analysts. It keeps no key, so equal rows are counted, not merged by key.
SELECT
    orders.order_date,
    orders.order_status,
    orders.order_priority,
    customers.market_segment,
    nations.nation_name AS customer_nation,
    parts.brand,
    line_items.ship_mode,
    line_items.quantity,
    line_items.net_price
FROM {{ ref('stg_tpch__line_items') }} AS line_items
INNER JOIN {{ ref('stg_tpch__orders') }} AS orders
    ON line_items.order_id = orders.order_id
INNER JOIN {{ ref('stg_tpch__customers') }} AS customers
    ON orders.customer_id = customers.customer_id
INNER JOIN {{ ref('stg_tpch__nations') }} AS nations
    ON customers.nation_id = nations.nation_id
INNER JOIN {{ ref('stg_tpch__parts') }} AS parts
    ON line_items.part_id = parts.part_id
