-- A session ends when nothing happens for a while: a gap begins the next.
with gaps as (
    select
        *,
        case
            when happened_at - lag(happened_at) over (partition by user_id order by happened_at, event_id)
                < interval {{ var('idle_minutes') }} minutes then 0
            else 1
        end as begins
    from {{ ref('stg_events') }}
)

select *, sum(begins) over (partition by user_id order by happened_at, event_id rows unbounded preceding) as session_number
from gaps
