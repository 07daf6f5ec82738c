{#- A seed is one Delta table whose log goes on: a second `dbt seed` replaces the rows in one commit, so that whoever
    follows its changes sees the net difference. Only where the columns changed is the table itself replaced. -#}

{% macro spark_dynamic__create_csv_table(model, agate_table) %}
  {%- set columns = adapter.seed_columns(agate_table, model) -%}
  {%- set sql -%}
    create {{ 'or replace ' if config.get('file_format') == 'delta' }}table {{ this.render() }} (
      {%- for column in columns %}
      {{ column.quoted }} {{ column.type }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
    {{ file_format_clause() }}
    {{ partition_cols(label="partitioned by") }}
    {{ clustered_cols(label="clustered by") }}
    {{ location_clause() }}
    {{ comment_clause() }}
  {%- endset -%}
  {% call statement('_') %}{{ sql }}{% endcall %}
  {{ return(sql) }}
{% endmacro %}


{% macro spark_dynamic__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {%- set wants_delta = config.get('file_format') == 'delta' -%}
  {%- set same_format = wants_delta == (old_relation.is_delta or false) -%}
  {%- set columns = adapter.seed_columns(agate_table, model) -%}
  {% if full_refresh or not same_format or not adapter.seed_fits(old_relation, columns) %}
    {% if not (wants_delta and same_format) %}
      {% do adapter.drop_relation(old_relation) %}
    {% endif %}
    {{ return(create_csv_table(model, agate_table)) }}
  {% endif %}
  {% if not agate_table.rows %}
    {% do adapter.truncate_relation(old_relation) %}
  {% endif %}
  {{ return('') }}
{% endmacro %}


{% macro spark_dynamic__load_csv_rows(model, agate_table) %}
  {%- set columns = adapter.seed_columns(agate_table, model) -%}
  {%- set parts = [] -%}
  {#- Rows in batches of a size that Spark can parse; all batches in one commit, so none is visible alone. -#}
  {% for chunk in agate_table.rows | batch(get_batch_size()) %}
    {% do parts.append(adapter.seed_select(columns, chunk)) %}
  {% endfor %}
  {% if parts | length > 1 %}
    {% for part in parts %}
      {%- set view = model['alias'] ~ '__dbt_seed_' ~ loop.index -%}
      {% do adapter.add_query('create or replace temporary view ' ~ view ~ ' as ' ~ part, abridge_sql_log=True) %}
    {% endfor %}
  {% endif %}
  {%- set sql -%}
    insert overwrite {{ this.render() }}
    {% for part in parts -%}
      {{ 'union all ' if not loop.first }}
      {{- part if parts | length == 1 else 'select * from ' ~ model['alias'] ~ '__dbt_seed_' ~ loop.index }}
    {% endfor %}
  {%- endset -%}
  {% do adapter.add_query(sql, abridge_sql_log=True) %}
  {{ return(sql) }}
{% endmacro %}
