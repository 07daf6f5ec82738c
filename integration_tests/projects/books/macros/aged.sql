{# Columns of what is due for so many days, the last of them without end. #}
{% macro aged(days, amount, limits=[30, 60, 90]) -%}
  {% for limit in limits -%}
  sum(case when {{ days }} <= {{ limit }} {% if not loop.first %}and {{ days }} > {{ limits[loop.index0 - 1] }} {% endif %}then {{ amount }} end) as up_to_{{ limit }},
  {% endfor -%}
  sum(case when {{ days }} > {{ limits[-1] }} then {{ amount }} end) as over_{{ limits[-1] }}
{%- endmacro %}
