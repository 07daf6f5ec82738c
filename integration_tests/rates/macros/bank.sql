{# Makes the empty tables of the bank, unless they are there. #}
{% macro create_bank() %}
  {% do run_query("create schema if not exists " ~ target.schema) %}
  {% do run_query(
      "create table if not exists " ~ target.schema ~ ".rates (currency string, rate decimal(38,10), "
      ~ "currency_time timestamp, arrived_at timestamp) using delta"
  ) %}
  {% do run_query(
      "create table if not exists " ~ target.schema ~ ".orders (order_id string, currency string, amount int, "
      ~ "order_time timestamp) using delta"
  ) %}
  {% for name in ['rates_debezium', 'rates_canal'] %}
    {% do run_query("create table if not exists " ~ target.schema ~ "." ~ name ~ " (value binary) using delta") %}
  {% endfor %}
{% endmacro %}
