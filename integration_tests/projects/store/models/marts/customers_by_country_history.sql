select country_code, count(*) as versions, sum(case when dbt_valid_to is null then 1 else 0 end) as current_customers
from {{ ref('customers_snapshot') }}
group by country_code
