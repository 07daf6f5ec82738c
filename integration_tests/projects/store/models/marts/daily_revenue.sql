select
    orders.ordered_on,
    customers.country_name,
    count(distinct orders.customer_id) as customers,
    count(*) as orders,
    sum(orders.total) as revenue,
    cast(sum(orders.total * countries.vat_rate) as decimal(18, 2)) as vat
from {{ ref('fct_orders') }} as orders
join {{ ref('dim_customers') }} as customers on customers.customer_id = orders.customer_id
left join {{ ref('countries') }} as countries on countries.country_name = customers.country_name
group by orders.ordered_on, customers.country_name
