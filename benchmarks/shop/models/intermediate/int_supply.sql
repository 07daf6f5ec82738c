select part_id, count(*) as suppliers, sum(available) as available, min(cost) as least_cost,
    max(cost) as highest_cost
from {{ ref('stg_offers') }} group by part_id
