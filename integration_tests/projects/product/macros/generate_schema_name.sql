{# Schemas of a target, each behind its name: as dbt has it, written out because teams do. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
  {{ target.schema }}{{ '_' ~ custom_schema_name | trim if custom_schema_name }}
{%- endmacro %}
