with orders as (

    select
        customer_id,
        min(ordered_on) as first_order_on,
        max(ordered_on) as latest_order_on,
        count(*) as orders,
        sum(total) as lifetime_value
    from {{ ref('fct_orders') }}
    group by customer_id

)

select
    customers.customer_id,
    customers.customer_name,
    customers.email,
    countries.country_name,
    customers.signed_up_on,
    orders.first_order_on,
    orders.latest_order_on,
    coalesce(orders.orders, 0) as orders,
    coalesce(orders.lifetime_value, 0) as lifetime_value,
    case when orders.lifetime_value >= 100 then 'gold' when orders.orders > 0 then 'active' else 'prospect' end as tier
from {{ ref('stg_customers') }} as customers
left join orders on orders.customer_id = customers.customer_id
left join {{ ref('countries') }} as countries on countries.country_code = customers.country_code
