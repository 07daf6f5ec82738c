{# Processing time: each order at the latest rate there is when it is processed. #}
{{ config(materialized='temporal_join', unique_key='order_id') }}

select
  o.order_id,
  o.amount * r.rate as amount,
  r.currency
from {{ source('bank', 'orders') }} as o, {{ ref('latest_rates5') }} for system_time as of proctime() r
on o.currency = r.currency
