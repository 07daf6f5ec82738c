select p.part_id, p.name, p.brand, p.type, p.size, p.list_price, s.suppliers, s.available, s.least_cost,
    c.supplier_id as cheapest_supplier_id
from {{ ref('stg_parts') }} p left join {{ ref('int_supply') }} s using (part_id) left join {{ ref('int_cheapest_offers') }} c using (part_id)
