{# versioned_rates2 of the same changelog as Canal sends it. #}
{{ config(
    format='canal-json',
    column_types={'currency': 'string', 'rate': 'decimal(38,10)', 'currency_time': 'timestamp'},
    unique_key='currency',
    updated_at='db_operation_time',
) }}

select value from {{ source('bank', 'rates_canal') }}
