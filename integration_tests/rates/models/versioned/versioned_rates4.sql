{# The view that keeps the last row of each currency: key and event time are inferred from it, and every row that was
   the last one once is a version. #}
select currency, rate, currency_time
from (
    select *, row_number() over (partition by currency order by currency_time desc) as row_num
    from {{ source('bank', 'rates') }}
)
where row_num = 1
