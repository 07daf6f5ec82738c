select n_nationkey as nation_id, n_name as nation, n_regionkey as region_id
from {{ source('raw', 'nation') }}
