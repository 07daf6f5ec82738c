select
    id as order_id,
    customer_id,
    status,
    cast(ordered_at as date) as ordered_on,
    ordered_at,
    updated_at
from {{ source('raw', 'orders') }}
where status <> 'cancelled'
