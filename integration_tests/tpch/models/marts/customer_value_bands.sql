-- A dynamic table on a dynamic table: it reads the changes of customer_orders.
SELECT
    value_band,
    COUNT(*) AS customer_count,
    SUM(total_spent) AS total_spent,
    MAX(last_order_date) AS last_order_date
FROM (
    SELECT
        total_spent,
        last_order_date,
        CASE
            WHEN total_spent >= 3000000 THEN 'gold'
            WHEN total_spent >= 1500000 THEN 'silver'
            ELSE 'bronze'
        END AS value_band
    FROM {{ ref('customer_orders') }}
)
GROUP BY value_band
