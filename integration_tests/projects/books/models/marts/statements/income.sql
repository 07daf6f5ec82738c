select
    coalesce(kind, 'all') as kind,
    coalesce(parent, 'all') as parent,
    cast(year(booked_on) as int) as year,
    sum(booked) as amount,
    sum(booked) filter (where booked < 0) as credited,
    grouping_id() as level
from {{ ref('fct_lines') }}
join {{ ref('stg_accounts') }} using (account)
where kind in ('income', 'expense')
group by year(booked_on), rollup (kind, parent)
