-- How far each person came, step by step in this order.
with firsts as (
    select
        user_id
        {%- for step in var('steps') %},
        min(happened_at) filter (where event = '{{ step }}') as {{ step }}_at
        {%- endfor %}
    from {{ ref('stg_events') }}
    group by user_id
)

select
    accounts.plan,
    {%- for step in var('steps') %}
    count(
        case when true {%- for earlier in var('steps')[:loop.index0] %} and {{ earlier }}_at <= {{ step }}_at {%- endfor %}
        then {{ step }}_at end
    ) as {{ step }},
    {%- endfor %}
    count(*) as people
from firsts
join {{ ref('stg_users') }} as users using (user_id)
left join {{ ref('stg_accounts') }} as accounts using (account_id)
group by accounts.plan
