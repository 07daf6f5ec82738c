-- One row per customer who ordered: the key of the table is derived from GROUP BY.
SELECT
    customer_id,
    COUNT(*) AS order_count,
    SUM(total_price) AS total_spent,
    MIN(order_date) AS first_order_date,
    MAX(order_date) AS last_order_date,
    MAX(total_price) AS largest_order
FROM {{ ref('stg_tpch__orders') }}
GROUP BY customer_id
