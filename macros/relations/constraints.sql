{#- A contract's constraints are properties of the table as it is created, so that the rows of CREATE TABLE AS are the
    first that Delta checks. dbt-spark adds them afterwards, when readers have seen the rows already. -#}
{% macro spark_dynamic__tblproperties_clause() -%}
  {%- set properties = adapter.table_properties(model, config.get('file_format')) -%}
  {%- if properties %}
    tblproperties (
      {%- for name, value in properties.items() %}
      {{ adapter.text_literal(name) }} = {{ adapter.text_literal(value) }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
  {%- endif %}
{%- endmacro %}


{% macro spark_dynamic__persist_constraints(relation, model) %}{% endmacro %}
