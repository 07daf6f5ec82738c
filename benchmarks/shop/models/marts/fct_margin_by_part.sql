select l.part_id, sum(l.revenue) as revenue, sum(l.quantity * o.cost) as cost
from {{ ref('stg_lines') }} l join {{ ref('stg_offers') }} o on l.part_id = o.part_id and l.supplier_id = o.supplier_id
group by l.part_id
