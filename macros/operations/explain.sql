{#- dbt run-operation explain --args '{model: customer_orders}' -#}
{% macro explain(model) %}
  {%- do print(adapter.explain_model(model)) -%}
{% endmacro %}
