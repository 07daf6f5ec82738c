SELECT
    user,
    COUNT(url) AS cnt
FROM {{ source('web', 'clicks') }}
GROUP BY user
