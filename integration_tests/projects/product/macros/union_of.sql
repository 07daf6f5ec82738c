{# Relations one below the other with the columns that they have in common, and where each row is from. #}
{% macro union_of(relations, columns) -%}
  {% for relation in relations -%}
  select {{ columns | join(', ') }}, '{{ relation.identifier }}' as _from from {{ relation }}
  {%- if not loop.last %} union all {% endif %}
  {% endfor %}
{%- endmacro %}
