-- TPC-H Q3 without its limit: what the open orders of one market segment are worth.
SELECT
    line_items.order_id,
    orders.order_date,
    orders.ship_priority,
    SUM(line_items.net_price) AS revenue
FROM {{ ref('stg_tpch__customers') }} AS customers
INNER JOIN {{ ref('stg_tpch__orders') }} AS orders
    ON customers.customer_id = orders.customer_id
INNER JOIN {{ ref('stg_tpch__line_items') }} AS line_items
    ON orders.order_id = line_items.order_id
WHERE
    customers.market_segment = 'BUILDING'
    AND orders.order_date < DATE '1995-03-15'
    AND line_items.ship_date > DATE '1995-03-15'
GROUP BY line_items.order_id, orders.order_date, orders.ship_priority
