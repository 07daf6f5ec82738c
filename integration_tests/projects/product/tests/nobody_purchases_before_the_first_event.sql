select p.* from {{ ref('fct_purchases') }} as p join {{ ref('fct_sessions') }} as s on s.user_id = p.user_id and s.session_number = 1
where p.happened_at < s.began_at
