select order_id, open_amount from {{ ref('fct_orders') }} where open_amount < 0
