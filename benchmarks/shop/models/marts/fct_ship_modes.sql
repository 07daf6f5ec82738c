select ship_mode, month(shipped_on) as month, count(*) as lines, sum(price) as price, min(shipped_on) as first_on
from {{ ref('stg_lines') }} group by ship_mode, month(shipped_on)
