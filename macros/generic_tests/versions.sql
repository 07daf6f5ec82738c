{#- Tests of a history: a versioned_table, a dbt snapshot, or any table with a validity interval in two columns.

    unique_key          the columns, one or a list, whose rows are versions of one another; below a column: that column
    valid_from, valid_to, valid_to_current
                        the interval, if its columns or the value that stands for no end are not dbt's own -#}

{% test versions_do_not_overlap(model, column_name=none, unique_key=none, valid_from='dbt_valid_from', valid_to='dbt_valid_to', valid_to_current=none) %}
select * from {{ versions_in_order(model, unique_key or column_name, valid_from, valid_to, valid_to_current) }}
where next_valid_from is not null and coalesce(next_valid_from < {{ version_end(valid_to, valid_to_current) }}, true)
{% endtest %}


{% test versions_are_contiguous(model, column_name=none, unique_key=none, valid_from='dbt_valid_from', valid_to='dbt_valid_to', valid_to_current=none) %}
select * from {{ versions_in_order(model, unique_key or column_name, valid_from, valid_to, valid_to_current) }}
where next_valid_from is not null and not next_valid_from <=> {{ version_end(valid_to, valid_to_current) }}
{% endtest %}


{#- allow_none: a key whose row was deleted may have no current version -#}
{% test one_current_version(model, column_name=none, unique_key=none, valid_to='dbt_valid_to', valid_to_current=none, allow_none=false) %}
select {{ version_key(unique_key or column_name) }}, count_if({{ version_end(valid_to, valid_to_current) }} is null) as current_versions
from {{ model }}
group by {{ version_key(unique_key or column_name) }}
having current_versions {{ '> 1' if allow_none else '<> 1' }}
{% endtest %}


{% test valid_from_before_valid_to(model, column_name=none, valid_from='dbt_valid_from', valid_to='dbt_valid_to') %}
select * from {{ model }}
where {{ valid_from }} is null or {{ valid_from }} >= {{ valid_to }}
{% endtest %}


{#- Each version beside the beginning of the next one of its key. -#}
{% macro versions_in_order(model, unique_key, valid_from, valid_to, valid_to_current) -%}
(
  select *, lead({{ valid_from }}) over (
    partition by {{ version_key(unique_key) }}
    order by {{ valid_from }}, {{ version_end(valid_to, valid_to_current) }} nulls last
  ) as next_valid_from
  from {{ model }}
)
{%- endmacro %}


{% macro version_key(unique_key) -%}
  {%- if not unique_key -%}
    {{ exceptions.raise_compiler_error("this test needs unique_key: the columns whose rows are versions of one another") }}
  {%- endif -%}
  {{ unique_key if unique_key is string else unique_key | join(', ') }}
{%- endmacro %}


{#- The end of a version, null for the current one. -#}
{% macro version_end(valid_to, valid_to_current) -%}
  {{ valid_to if valid_to_current is none else 'nullif(' ~ valid_to ~ ', ' ~ valid_to_current ~ ')' }}
{%- endmacro %}
