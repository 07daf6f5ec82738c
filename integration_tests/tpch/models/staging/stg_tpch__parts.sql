SELECT
    p_partkey AS part_id,
    p_name AS part_name,
    p_brand AS brand,
    p_type AS part_type,
    p_size AS part_size,
    p_retailprice AS retail_price
FROM {{ source('tpch', 'part') }}
