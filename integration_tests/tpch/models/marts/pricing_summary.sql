-- TPC-H Q1: what was shipped, by the state of the line.
SELECT
    return_flag,
    line_status,
    SUM(quantity) AS total_quantity,
    SUM(list_price) AS total_list_price,
    SUM(net_price) AS total_net_price,
    SUM(net_price * (1 + tax)) AS total_charge,
    AVG(quantity) AS average_quantity,
    AVG(list_price) AS average_list_price,
    AVG(discount) AS average_discount,
    COUNT(*) AS line_count
FROM {{ ref('stg_tpch__line_items') }}
WHERE ship_date <= DATE '1998-09-02'
GROUP BY return_flag, line_status
