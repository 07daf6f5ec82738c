select part_id, name, brand from {{ ref('stg_parts') }}
where part_id not in (select part_id from {{ ref('int_active_parts') }})
