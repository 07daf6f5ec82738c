{# Changes the sources by hand: `dbt run-operation execute --args '{sql: "delete from tpch_raw.orders where o_orderkey < 100"}'`. #}
{% macro execute(sql) %}
  {% do run_query(sql) %}
{% endmacro %}
