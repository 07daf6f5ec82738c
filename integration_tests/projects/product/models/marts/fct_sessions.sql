select
    user_id,
    session_number,
    min(happened_at) as began_at,
    max(happened_at) as ended_at,
    count(*) as events,
    count(distinct page) as pages,
    sum(amount) as paid,
    bool_or(in_app) as in_app,
    max_by(page, struct(happened_at, event_id)) as left_from,
    array_join(array_sort(collect_list(event)), ' ') as what_happened
from {{ ref('int_events_in_sessions') }}
group by user_id, session_number
