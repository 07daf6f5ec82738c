{# A key, but no event time: when a row is read is not when it began to hold. #}
{{ config(materialized='view') }}

select currency, rate, current_timestamp() as proctime from {{ source('bank', 'rates') }}
