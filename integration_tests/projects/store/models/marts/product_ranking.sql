with sold as (

    select
        products.category,
        products.product_name,
        sum(items.quantity) as pieces,
        sum(items.quantity * items.price) as revenue
    from {{ ref('stg_order_items') }} as items
    join {{ ref('stg_products') }} as products on products.product_id = items.product_id
    where exists (select 1 from {{ ref('stg_orders') }} as o where o.order_id = items.order_id)
    group by products.category, products.product_name

)

select *, rank() over (partition by category order by revenue desc) as place
from sold
