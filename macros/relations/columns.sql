{#- The columns of ref() are those of its table, also under --empty and --sample, where it prints as a subquery. -#}
{% macro spark_dynamic__get_columns_in_relation_raw(relation) -%}
  {{ return(run_query('describe extended ' ~ relation.render())) }}
{%- endmacro %}


{#- Columns, and not the rows of DESCRIBE, in which snapshots do not find the names they look for: with dbt-spark, what
    hard_deletes='new_record' inserts has no values. -#}
{% macro spark_dynamic__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}


{% macro spark_dynamic__alter_column_type(relation, column_name, new_column_type) -%}
  {%- do run_query('alter table ' ~ relation.render() ~ ' alter column ' ~ column_name ~ ' type ' ~ new_column_type) -%}
{%- endmacro %}


{#- The columns of a snapshot's staging view that the snapshot has not. The parts of a composite key, which the view has
    by names of its own, are none of them; dbt-spark adds them, and the next MERGE finds them twice. -#}
{% macro spark_dynamic__create_columns(relation, columns) -%}
  {%- set new = [] -%}
  {%- for column in columns if not column.name.lower().startswith('dbt_unique_key') -%}
    {%- do new.append(column) -%}
  {%- endfor -%}
  {{ return(spark__create_columns(relation, new)) }}
{%- endmacro %}


{#- on_schema_change of incremental models. Delta drops columns once they go by names of their own in its files. -#}
{% macro spark_dynamic__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {%- if add_columns %}
    {%- do run_query('alter table ' ~ relation.render() ~ ' add columns (' ~ column_list(add_columns, types=true) ~ ')') -%}
  {%- endif %}
  {%- if remove_columns %}
    {%- set known = load_cached_relation(relation) -%}
    {%- if known and not known.is_delta -%}
      {{ exceptions.raise_compiler_error(relation ~ ' is not a Delta table, and Spark drops no columns of any other') }}
    {%- endif -%}
    {%- do run_query("alter table " ~ relation.render() ~ " set tblproperties ('delta.columnMapping.mode' = 'name')") -%}
    {%- do run_query('alter table ' ~ relation.render() ~ ' drop columns (' ~ column_list(remove_columns) ~ ')') -%}
  {%- endif %}
{% endmacro %}


{% macro column_list(columns, types=false) -%}
  {%- for column in columns -%}
    {{ adapter.quote(column.name) }}{{ ' ' ~ column.data_type if types }}{{ ', ' if not loop.last }}
  {%- endfor -%}
{%- endmacro %}
