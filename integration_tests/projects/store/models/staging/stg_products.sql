select id as product_id, name as product_name, coalesce(category, 'other') as category
from {{ source('raw', 'products') }}
