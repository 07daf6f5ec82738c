{# The last row of each currency to arrive: a key, but no event time. #}
select currency, rate, arrived_at
from (
    select *, row_number() over (partition by currency order by arrived_at desc) as row_num
    from {{ source('bank', 'rates') }}
)
where row_num = 1
