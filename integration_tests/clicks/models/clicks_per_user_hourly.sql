SELECT
    user,
    DATE_TRUNC('hour', cTime) AS window_start,
    DATE_TRUNC('hour', cTime) + INTERVAL 1 HOUR AS window_end,
    COUNT(url) AS cnt
FROM {{ source('web', 'clicks') }}
GROUP BY user, DATE_TRUNC('hour', cTime)
