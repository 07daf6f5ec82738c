{# The same changelog dated by the database: a version lasts from one operation to the next, DELETEs included. #}
{{ config(
    format='debezium-json',
    column_types={'currency': 'string', 'rate': 'decimal(38,10)', 'currency_time': 'timestamp'},
    unique_key='currency',
    updated_at='db_operation_time',
) }}

select value from {{ source('bank', 'rates_debezium') }}
