select id as account_id, plan, seats, opened_on, closed_on from {{ source('raw', 'accounts') }}
