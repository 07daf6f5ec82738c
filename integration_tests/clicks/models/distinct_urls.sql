SELECT DISTINCT url
FROM {{ source('web', 'clicks') }}
