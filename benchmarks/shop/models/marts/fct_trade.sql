select s.nation as from_nation, c.nation as to_nation, year(l.shipped_on) as year, count(*) as lines,
    sum(l.revenue) as revenue
from {{ ref('int_lines') }} l join {{ ref('int_suppliers') }} s using (supplier_id)
join {{ ref('int_customers') }} c on l.customer_id = c.customer_id
group by s.nation, c.nation, year(l.shipped_on)
