select s.supplier_id, s.name, s.nation, s.region, s.balance, o.parts, o.stock_value
from {{ ref('int_suppliers') }} s left join (
    select supplier_id, count(*) as parts, sum(available * cost) as stock_value from {{ ref('stg_offers') }} group by supplier_id
) o using (supplier_id)
