select c.*, g.nation, g.region
from {{ ref('stg_customers') }} c join {{ ref('int_geography') }} g using (nation_id)
