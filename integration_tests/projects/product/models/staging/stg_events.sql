-- Both trackers, without what was sent twice.
with sent as (
    {{ union_of([source('raw', 'web_events'), source('raw', 'app_events')], ['id', 'user_id', 'name', 'at', 'properties']) }}
)

select
    id as event_id,
    user_id,
    lower(name) as event,
    at as happened_at,
    cast(get_json_object(properties, '$.amount') as decimal(10, 2)) as amount,
    get_json_object(properties, '$.page') as page,
    _from = 'app_events' as in_app
from sent
where user_id is not null
qualify row_number() over (partition by id order by at) = 1
