select part_id, supplier_id, cost, available
from {{ ref('stg_offers') }}
qualify row_number() over (partition by part_id order by cost, supplier_id) = 1
