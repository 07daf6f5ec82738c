select p.part_id, p.name, p.brand from {{ ref('stg_parts') }} p
where not exists (select 1 from {{ ref('int_active_parts') }} a where a.part_id = p.part_id)
