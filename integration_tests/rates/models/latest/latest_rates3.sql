{# An event time, but no key. #}
select currency, rate, currency_time from {{ source('bank', 'rates') }}
