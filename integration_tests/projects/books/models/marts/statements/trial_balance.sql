-- What was on each account at the end of each month that it moved in, and the share of its kind.
with months as (
    select account, month, sum(booked) as moved from {{ ref('fct_lines') }} group by all
)

select
    accounts.path,
    months.account,
    months.month,
    moved,
    sum(moved) over (partition by months.account order by month) as balance,
    avg(moved) over (partition by months.account order by month rows between 2 preceding and current row) as of_three_months,
    dense_rank() over (partition by accounts.kind, month order by abs(moved) desc) as place
from months
join {{ ref('stg_accounts') }} as accounts on accounts.account = months.account
