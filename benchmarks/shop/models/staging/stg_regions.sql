select r_regionkey as region_id, r_name as region
from {{ source('raw', 'region') }}
