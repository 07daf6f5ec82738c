-- Of the people who joined in a month, those who are active so many months later.
with active as (
    select distinct user_id, date_trunc('month', happened_at) as month from {{ ref('stg_events') }}
),

cohorts as (
    select user_id, date_trunc('month', joined_on) as cohort from {{ ref('stg_users') }}
)

select
    cast(cohort as date) as cohort,
    cast(months_between(month, cohort) as int) as months_later,
    count(*) as people,
    sizes.people as cohort_size,
    cast(100 * count(*) / sizes.people as decimal(5, 2)) as percent
from cohorts
join active using (user_id)
join (select cohort, count(*) as people from cohorts group by cohort) as sizes using (cohort)
where month >= cohort
group by cohort, 2, sizes.people
