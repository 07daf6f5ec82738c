-- After TPC-H Q5: five tables joined and summed.
SELECT
    regions.region_name,
    nations.nation_name,
    YEAR(orders.order_date) AS order_year,
    COUNT(*) AS line_count,
    SUM(line_items.net_price) AS revenue
FROM {{ ref('stg_tpch__line_items') }} AS line_items
INNER JOIN {{ ref('stg_tpch__orders') }} AS orders
    ON line_items.order_id = orders.order_id
INNER JOIN {{ ref('stg_tpch__customers') }} AS customers
    ON orders.customer_id = customers.customer_id
INNER JOIN {{ ref('stg_tpch__nations') }} AS nations
    ON customers.nation_id = nations.nation_id
INNER JOIN {{ ref('stg_tpch__regions') }} AS regions
    ON nations.region_id = regions.region_id
GROUP BY regions.region_name, nations.nation_name, YEAR(orders.order_date)
