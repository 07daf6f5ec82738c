-- COUNT DISTINCT: how many suppliers delivered a part, and the costs they offer it at.
SELECT
    line_items.part_id,
    COUNT(DISTINCT line_items.supplier_id) AS delivering_suppliers,
    COUNT(*) AS line_count,
    MIN(part_suppliers.supply_cost) AS lowest_supply_cost,
    MAX(part_suppliers.supply_cost) AS highest_supply_cost
FROM {{ ref('stg_tpch__line_items') }} AS line_items
INNER JOIN {{ ref('stg_tpch__part_suppliers') }} AS part_suppliers
    ON
        line_items.part_id = part_suppliers.part_id
        AND line_items.supplier_id = part_suppliers.supplier_id
GROUP BY line_items.part_id
