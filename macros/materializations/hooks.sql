{#- Spark has no transactions: a hook outside of one runs before, or after, those inside, and no `commit` is sent.

    dbt-spark's materializations ask for the hooks inside alone, once before and once after: then all are run.
    Other materializations ask for each kind by itself. -#}
{% macro run_hooks(hooks, inside_transaction=True) %}
  {%- set outside = hooks | rejectattr('transaction') | list -%}
  {%- set inside = hooks | selectattr('transaction') | list -%}
  {%- if config.get('materialized') in ('table', 'incremental', 'view', 'dynamic_table', 'versioned_table', 'temporal_join') -%}
    {%- set all = outside + inside if hooks == pre_hooks else inside + outside -%}
    {%- set due = all if inside_transaction else [] -%}
  {%- else -%}
    {%- set due = inside if inside_transaction else outside -%}
  {%- endif -%}
  {%- for hook in due -%}
    {%- set rendered = render(hook.get('sql')) | trim -%}
    {%- if rendered -%}
      {%- call statement(auto_begin=inside_transaction) -%}{{ rendered }}{%- endcall -%}
    {%- endif -%}
  {%- endfor -%}
{% endmacro %}
