{{ config(
    materialized=var('facts_as'),
    unique_key='order_id',
    incremental_strategy='merge',
    on_schema_change='append_new_columns'
) }}

with orders as (

    select * from {{ ref('stg_orders') }}
    {% if is_incremental() %}
    -- Items and payments of an order always come with a new updated_at of the order itself.
    where updated_at >= (select max(updated_at) from {{ this }})
    {% endif %}

)

select
    {{ surrogate_key(['orders.order_id', 'orders.customer_id']) }} as order_key,
    orders.order_id,
    orders.customer_id,
    orders.status,
    orders.ordered_on,
    orders.updated_at,
    coalesce(totals.lines, 0) as lines,
    coalesce(totals.total, 0) as total,
    {% for method in var('payment_methods') -%}
    coalesce(payments.{{ method }}_amount, 0) as {{ method }}_amount,
    {% endfor -%}
    coalesce(totals.total, 0) - coalesce(payments.paid, 0) as open_amount
from orders
left join {{ ref('int_order_totals') }} as totals using (order_id)
left join {{ ref('int_order_payments') }} as payments using (order_id)
