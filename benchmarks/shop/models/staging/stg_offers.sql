select ps_partkey as part_id, ps_suppkey as supplier_id, ps_availqty as available, ps_supplycost as cost
from {{ source('raw', 'partsupp') }}
