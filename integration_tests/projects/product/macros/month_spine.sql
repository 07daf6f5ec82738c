{# The first of each month from `first` to `last`, as dbt_utils.date_spine would make them. #}
{% macro month_spine(first, last) -%}
  select explode(sequence(date '{{ first }}', date '{{ last }}', interval 1 month)) as month
{%- endmacro %}
