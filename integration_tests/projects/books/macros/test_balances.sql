{# What belongs together adds up to nothing. #}
{% test balances(model, column_name, of) %}
  select {{ of }}, sum({{ column_name }}) as off from {{ model }} group by {{ of }} having sum({{ column_name }}) <> 0
{% endtest %}
