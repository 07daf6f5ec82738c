{# Event time: each order at the rate that was valid when it was placed. #}
{{ config(materialized='temporal_join') }}

select
  o.order_id,
  o.order_time,
  o.amount * r.rate as amount,
  r.currency
from {{ source('bank', 'orders') }} as o, {{ ref('versioned_rates4') }} for system_time as of o.order_time r
on o.currency = r.currency
