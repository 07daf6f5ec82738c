{{ config(
    materialized=var('facts_as'),
    unique_key=['entry', 'line'],
    incremental_strategy='merge',
    contract={'enforced': true},
    on_schema_change='append_new_columns'
) }}

select entry, line, account, booked_on, month, currency, amount, {{ converted('amount', 'rate') }} as booked, version
from {{ ref('int_lines_in_currency') }}
{% if is_incremental() %}
where version > (select max(version) from {{ this }})
{% endif %}
