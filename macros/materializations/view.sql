{#- dbt-spark's two materializations by the name under which `dbt clone` looks for them. -#}
{% materialization view, adapter='spark_dynamic' -%}
  {{ return(create_or_replace_view()) }}
{%- endmaterialization %}


{#- dbt's own and not dbt-spark's, which clones a table onto itself. -#}
{% materialization clone, adapter='spark_dynamic' -%}
  {{ return(materialization_clone_default()) }}
{%- endmaterialization %}
