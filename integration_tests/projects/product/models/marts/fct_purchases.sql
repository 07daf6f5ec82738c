{{ config(materialized=var('facts_as'), unique_key='event_id', incremental_strategy='merge') }}

select event_id, user_id, happened_at, amount, cast(date_trunc('month', happened_at) as date) as month
from {{ ref('stg_events') }}
where event = 'purchase'
{% if is_incremental() %}
and happened_at > (select coalesce(max(happened_at), timestamp '1970-01-01') from {{ this }})
{% endif %}
