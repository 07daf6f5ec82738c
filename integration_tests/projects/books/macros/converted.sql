{# An amount in the currency of the books: at the last rate that was known on the day. #}
{% macro converted(amount, rate) -%}
  cast({{ amount }} * coalesce({{ rate }}, 1) as decimal(14, 2))
{%- endmacro %}
