select
    entries.id as entry,
    lines.line,
    lines.account,
    entries.booked_on,
    cast(trunc(entries.booked_on, 'month') as date) as month,
    entries.currency,
    case lines.side when 'D' then lines.amount else -lines.amount end as amount,
    entries.version
from {{ source('raw', 'entries') }} as entries
join {{ source('raw', 'lines') }} as lines on lines.entry = entries.id
where entries.posted
