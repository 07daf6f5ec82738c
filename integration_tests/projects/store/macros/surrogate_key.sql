{% macro surrogate_key(columns) -%}
  md5(concat_ws('|',
    {%- for column in columns %} coalesce(cast({{ column }} as string), ''){{ ',' if not loop.last }}{% endfor -%}
  ))
{%- endmacro %}
