select nation_id, nation, region
from {{ ref('stg_nations') }} join {{ ref('stg_regions') }} using (region_id)
