-- Three levels, which is as deep as the chart of accounts goes.
select
    a.id as account,
    a.name,
    a.kind,
    coalesce(b.name, a.name) as parent,
    concat_ws(' / ', c.name, b.name, a.name) as path
from {{ source('raw', 'accounts') }} as a
left join {{ source('raw', 'accounts') }} as b on b.id = a.parent
left join {{ source('raw', 'accounts') }} as c on c.id = b.parent
