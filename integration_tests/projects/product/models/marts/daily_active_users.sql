with days as (
    select cast(happened_at as date) as day, user_id, count(*) as events from {{ ref('stg_events') }} group by 1, 2
)

select
    day,
    count(*) as users,
    count_if(users.joined_on = days.day) as new_users,
    sum(events) as events,
    -- Of the people of this day, those who were here in the week before.
    count_if(exists (
        select 1 from days as before
        where before.user_id = days.user_id and before.day between days.day - 7 and days.day - 1
    )) as came_back
from days
left join {{ ref('stg_users') }} as users using (user_id)
group by day
