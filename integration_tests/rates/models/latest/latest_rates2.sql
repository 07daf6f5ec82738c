{# A view without event time and key. #}
{{ config(materialized='view') }}

select currency, rate from {{ source('bank', 'rates') }}
