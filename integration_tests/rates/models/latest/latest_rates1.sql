{# No event time and no key. #}
select currency, rate from {{ source('bank', 'rates') }}
