select distinct part_id from {{ ref('stg_lines') }} where shipped_on >= date '1997-01-01'
