-- After TPC-H Q18: orders of more than 250 pieces, and who placed them.
WITH large AS (
    SELECT
        order_id,
        SUM(quantity) AS total_quantity
    FROM {{ ref('stg_tpch__line_items') }}
    GROUP BY order_id
    HAVING SUM(quantity) > 250
)

SELECT
    customers.customer_name,
    customers.customer_id,
    orders.order_id,
    orders.order_date,
    orders.total_price,
    large.total_quantity
FROM large
INNER JOIN {{ ref('stg_tpch__orders') }} AS orders
    ON large.order_id = orders.order_id
INNER JOIN {{ ref('stg_tpch__customers') }} AS customers
    ON orders.customer_id = customers.customer_id
