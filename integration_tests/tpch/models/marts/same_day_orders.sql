-- A self join: pairs of orders that one customer placed on one day.
SELECT
    earlier.customer_id,
    earlier.order_date,
    earlier.order_id,
    later.order_id AS next_order_id,
    earlier.total_price + later.total_price AS combined_price
FROM {{ ref('stg_tpch__orders') }} AS earlier
INNER JOIN {{ ref('stg_tpch__orders') }} AS later
    ON
        earlier.customer_id = later.customer_id
        AND earlier.order_date = later.order_date
        AND earlier.order_id < later.order_id
