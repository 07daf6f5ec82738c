select
    order_id,
    line,
    product_id,
    quantity,
    {{ cents_to_units('price_cents') }} as price
from {{ source('raw', 'order_items') }}
