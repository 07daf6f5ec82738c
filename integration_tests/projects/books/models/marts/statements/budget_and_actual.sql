select
    coalesce(actual.account, budget.account) as account,
    coalesce(actual.month, budget.month) as month,
    budget.amount as budget,
    actual.amount as actual,
    coalesce(actual.amount, 0) - coalesce(budget.amount, 0) as difference
from (select account, month, sum(booked) as amount from {{ ref('fct_lines') }} group by account, month) as actual
full outer join {{ ref('budget') }} as budget on budget.account = actual.account and budget.month = actual.month
