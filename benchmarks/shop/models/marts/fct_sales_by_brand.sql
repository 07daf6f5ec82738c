select p.brand, year(l.ordered_on) as year, sum(l.quantity) as quantity, sum(l.revenue) as revenue
from {{ ref('int_lines') }} l join {{ ref('stg_parts') }} p using (part_id)
group by p.brand, year(l.ordered_on)
