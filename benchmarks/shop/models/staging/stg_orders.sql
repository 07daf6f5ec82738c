select o_orderkey as order_id, o_custkey as customer_id, o_orderstatus as status, o_totalprice as total,
    o_orderdate as ordered_on, trim(o_orderpriority) as priority, o_clerk as clerk
from {{ source('raw', 'orders') }}
