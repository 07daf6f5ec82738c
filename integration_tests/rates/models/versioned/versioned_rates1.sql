{# A changelog of a database whose rows say themselves when they were written. A DELETE repeats the time of the row it
   deletes: dated like that it would come too late to delete anything, and is ignored. See versioned_rates2. #}
{{ config(
    format='debezium-json',
    column_types={'currency': 'string', 'rate': 'decimal(38,10)', 'currency_time': 'timestamp'},
    unique_key='currency',
    updated_at='currency_time',
    hard_deletes='ignore',
) }}

select value from {{ source('bank', 'rates_debezium') }}
