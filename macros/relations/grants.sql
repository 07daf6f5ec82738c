{#- Where Spark has no grants, models that grant something were refused before: what is left has nothing to revoke. -#}
{% macro spark_dynamic__apply_grants(relation, grant_config, should_revoke=True) %}
  {% if grant_config and adapter.has_grants() %}
    {{ default__apply_grants(relation, grant_config, should_revoke) }}
  {% endif %}
{% endmacro %}
