select
    lines.*,
    (
        select max_by(rate, valid_on) from {{ source('raw', 'fx_rates') }} as rates
        where rates.currency = lines.currency and rates.valid_on <= lines.booked_on
    ) as rate
from {{ ref('stg_lines') }} as lines
