{# Rows that are only appended. Where a currency is never repeated, each has one version. #}
{{ config(unique_key='currency', updated_at='currency_time') }}

select currency, rate, currency_time from {{ source('bank', 'rates') }}
