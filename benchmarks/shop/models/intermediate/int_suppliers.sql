select s.*, g.nation, g.region
from {{ ref('stg_suppliers') }} s join {{ ref('int_geography') }} g using (nation_id)
