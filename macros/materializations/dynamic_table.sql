{#- A model whose table is maintained by change. Every decision is taken in Python; this is the order of a dbt model's life. -#}
{% materialization dynamic_table, adapter='spark_dynamic', supported_languages=['sql'] %}
  {%- set old_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set grant_config = config.get('grants') -%}

  {{ run_hooks(pre_hooks) }}

  {%- if config.get('sql_header') -%}
    {%- call statement('sql_header') -%}{{ config.get('sql_header') }}{%- endcall -%}
  {%- endif -%}
  {%- if config.get('contract').enforced and config.get('materialized') != 'versioned_table' -%}
    {%- do get_assert_columns_equivalent(adapter.analyzable(compiled_code)) -%}
  {%- endif -%}
  {%- set response = adapter.refresh_dynamic_table(
        target_relation, compiled_code, model, dynamic_table_layout(), should_full_refresh(), graph) -%}
  {%- do write(response.sql) -%}
  {%- do store_result('main', response=response) -%}

  {%- do apply_grants(target_relation, grant_config, should_revoke(old_relation, full_refresh_mode=response.code == 'CREATED')) -%}
  {%- do adapter.document_dynamic_table(
        target_relation, model, config.persist_relation_docs(), config.persist_column_docs()) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- How the table lies on disk: dbt-spark's own clauses, and Delta's liquid clustering. -#}
{% macro dynamic_table_layout() -%}
  {{ partition_cols(label='partitioned by') }} {{ liquid_clustered_cols() }} {{ location_clause() }} {{ comment_clause() }}
{%- endmacro %}


{% macro liquid_clustered_cols() -%}
  {%- set cols = config.get('liquid_clustered_by') -%}
  {%- if cols is not none -%}
    cluster by ({{ ([cols] if cols is string else cols) | join(', ') }})
  {%- endif -%}
{%- endmacro %}
