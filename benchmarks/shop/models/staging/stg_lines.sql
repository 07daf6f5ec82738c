select l_orderkey as order_id, l_linenumber as line, l_partkey as part_id, l_suppkey as supplier_id,
    l_quantity as quantity, l_extendedprice as price, l_discount as discount, l_tax as tax,
    l_extendedprice * (1 - l_discount) as revenue, l_returnflag as return_flag, l_linestatus as line_status,
    l_shipdate as shipped_on, l_commitdate as promised_on, l_receiptdate as received_on, l_shipmode as ship_mode
from {{ source('raw', 'lineitem') }}
