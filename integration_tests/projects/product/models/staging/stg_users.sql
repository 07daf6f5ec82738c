select id as user_id, account_id, nullif(trim(email), '') as email, cast(joined_at as date) as joined_on
from {{ source('raw', 'users') }}
