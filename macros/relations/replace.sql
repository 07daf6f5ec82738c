{#- A view cannot take the place of a table by CREATE OR REPLACE. So the table goes at the last moment, and only when
    Spark has understood the view's SELECT. -#}
{% macro spark_dynamic__handle_existing_table(full_refresh, old_relation) %}
  {%- do run_query('describe query ' ~ sql) -%}
  {{ log('Dropping relation ' ~ old_relation.render() ~ ' because it is of type ' ~ old_relation.type) }}
  {%- do adapter.drop_relation(old_relation) -%}
{% endmacro %}


{#- Delta clones other formats than its own as little as Spark does; dbt then makes a view. -#}
{% macro spark_dynamic__can_clone_table() %}
  {{ return(config.get('file_format') == 'delta') }}
{% endmacro %}


{#- Delta clones only into an empty table. -#}
{% macro spark_dynamic__create_or_replace_clone(this_relation, defer_relation) %}
  {%- if load_cached_relation(this_relation) -%}
    {%- do run_query('truncate table ' ~ this_relation) -%}
  {%- endif %}
  create or replace table {{ this_relation }} shallow clone {{ defer_relation }}
{% endmacro %}


{#- EXPLAIN shows even a column that does not exist as a plan. -#}
{% macro spark_dynamic__validate_sql(sql) -%}
  {%- call statement('validate_sql') -%}
    describe query {{ sql }}
  {%- endcall -%}
  {{ return(load_result('validate_sql')) }}
{%- endmacro %}
