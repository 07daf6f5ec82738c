select supplier_id, count(*) as returns, sum(revenue) as refunded
from {{ ref('int_returns') }} group by supplier_id
