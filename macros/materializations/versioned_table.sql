{#- The history of every key of the model's changelog. Its life is that of a dynamic table; what is maintained in it is
    not the SELECT but the history of its rows, which Python writes. -#}
{% materialization versioned_table, adapter='spark_dynamic', supported_languages=['sql'] %}
  {{ return(materialization_dynamic_table_spark_dynamic()) }}
{% endmaterialization %}
