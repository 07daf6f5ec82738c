select p_partkey as part_id, p_name as name, p_brand as brand, p_type as type, p_size as size,
    p_retailprice as list_price, p_container as container
from {{ source('raw', 'part') }}
