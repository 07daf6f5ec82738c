SELECT
    l_orderkey AS order_id,
    l_linenumber AS line_number,
    l_partkey AS part_id,
    l_suppkey AS supplier_id,
    l_quantity AS quantity,
    l_extendedprice AS list_price,
    l_extendedprice * (1 - l_discount) AS net_price,
    l_discount AS discount,
    l_tax AS tax,
    l_returnflag AS return_flag,
    l_linestatus AS line_status,
    l_shipdate AS ship_date,
    l_shipmode AS ship_mode
FROM {{ source('tpch', 'lineitem') }}
