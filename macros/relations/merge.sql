{#- A SELECT that no longer has a column of the table, which on_schema_change='append_new_columns' keeps: `UPDATE SET *`
    and `INSERT *` would ask the SELECT for it. -#}
{% macro spark_dynamic__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) %}
  {%- if config.get('on_schema_change') != 'append_new_columns' or config.get('merge_update_columns') or config.get('merge_exclude_columns') -%}
    {{ return(spark__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
  {%- endif -%}
  {%- set keys = [unique_key] if unique_key is string else (unique_key or []) -%}
  {%- set met = [] if incremental_predicates is none else [] + incremental_predicates -%}
  {%- for key in keys -%}
    {%- do met.append('DBT_INTERNAL_SOURCE.' ~ key ~ ' = DBT_INTERNAL_DEST.' ~ key) -%}
  {%- endfor -%}
  {%- set names = adapter.get_columns_in_relation(source) | map(attribute='quoted') | list -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using {{ source }} as DBT_INTERNAL_SOURCE
  on {{ met | join(' and ') if keys else 'false' }}
  when matched then update set
    {% for name in names %}{{ name }} = DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}{% endfor %}
  when not matched then insert ({{ names | join(', ') }})
    values ({% for name in names %}DBT_INTERNAL_SOURCE.{{ name }}{{ ', ' if not loop.last }}{% endfor %})
{% endmacro %}
