-- Accounts that pay and of which nobody was there in the last 30 days that there are events of.
select account_id, plan, seats
from {{ ref('stg_accounts') }} as accounts
where closed_on is null and plan <> 'free' and account_id not in (
    select users.account_id
    from {{ ref('stg_users') }} as users
    join {{ ref('stg_events') }} as events using (user_id)
    where users.account_id is not null
      and events.happened_at > (select max(happened_at) from {{ ref('stg_events') }}) - interval 30 days
)
