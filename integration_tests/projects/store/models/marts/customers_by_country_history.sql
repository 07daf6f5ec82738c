select country_code, count(*) as versions, count_if(dbt_valid_to is null) as current_customers
from {{ ref('customers_snapshot') }}
group by country_code
