{# versioned_rates1 of the same changelog as Canal sends it. #}
{{ config(
    format='canal-json',
    column_types={'currency': 'string', 'rate': 'decimal(38,10)', 'currency_time': 'timestamp'},
    unique_key='currency',
    updated_at='currency_time',
    hard_deletes='ignore',
) }}

select value from {{ source('bank', 'rates_canal') }}
