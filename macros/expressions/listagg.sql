{#- dbt-spark has no order here; Spark has, since 4.0. Of as many values as asked for, by the text between them. -#}
{% macro spark_dynamic__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- if not order_by_clause -%}
    {{ return(spark__listagg(measure, delimiter_text, order_by_clause, limit_num)) }}
  {%- endif -%}
  {%- set ordered = 'listagg(' ~ measure ~ ', ' ~ delimiter_text ~ ') within group (' ~ order_by_clause ~ ')' -%}
  {{ return('substring_index(' ~ ordered ~ ', ' ~ delimiter_text ~ ', ' ~ limit_num ~ ')' if limit_num else ordered) }}
{%- endmacro %}
