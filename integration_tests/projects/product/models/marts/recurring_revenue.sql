-- What is due each month, and how it differs from the month before.
with due as (
    select months.month, count(accounts.account_id) as accounts, coalesce(sum(seats * monthly_price), 0) as revenue
    from ({{ month_spine(var('first_month'), var('last_month')) }}) as months
    left join {{ ref('stg_accounts') }} as accounts
        on opened_on <= last_day(months.month) and (closed_on is null or closed_on > last_day(months.month))
    left join {{ ref('plans') }} as plans using (plan)
    group by months.month
)

select *, revenue - lag(revenue) over (order by month) as change from due
