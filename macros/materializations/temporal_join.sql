{#- Rows joined with versions, each with the one that is valid at its own time. Its life is that of a dynamic table. -#}
{% materialization temporal_join, adapter='spark_dynamic', supported_languages=['sql'] %}
  {{ return(materialization_dynamic_table_spark_dynamic()) }}
{% endmaterialization %}
