{% snapshot accounts_snapshot %}
{{ config(unique_key='account_id', strategy='check', check_cols=['plan', 'seats']) }}
select * from {{ ref('stg_accounts') }}
{% endsnapshot %}
