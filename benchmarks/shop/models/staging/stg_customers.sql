select c_custkey as customer_id, c_name as name, c_mktsegment as segment, c_acctbal as balance,
    c_nationkey as nation_id, substring(c_phone, 1, 2) as country_code
from {{ source('raw', 'customer') }}
