{#- Tests of tables that are maintained by change: dynamic_table, versioned_table. -#}

{#- The table is its own SELECT, computed anew over the versions of its sources that it consumed, row by row. -#}
{% test equals_its_query(model) %}
{%- if execute -%}
{{ adapter.unequal_rows(tested_relation(), config.get('where')) }}
{%- endif -%}
{% endtest %}


{#- The table is not further behind any of its sources: `versions: 3`, or `count: 1, period: hour`. -#}
{% test fresh_within(model, versions=none, count=none, period='second') %}
{%- if execute -%}
  {%- set lengths = {'second': 1, 'minute': 60, 'hour': 3600, 'day': 86400} -%}
  {%- if (versions is none and count is none) or period not in lengths -%}
    {{ exceptions.raise_compiler_error("fresh_within needs versions, or count and a period of second, minute, hour or day") }}
  {%- endif -%}
  {%- for lag in adapter.source_lags(tested_relation()) %}
select '{{ lag.source }}' as source, {{ lag.versions }} as versions_behind, {{ lag.seconds }}D as seconds_behind
where {{ 'false' if versions is none else lag.versions ~ ' > ' ~ versions }}
  or {{ 'false' if count is none else lag.seconds ~ ' > ' ~ (count * lengths[period]) }}
union all
  {%- endfor %}
select '', 0, 0D where false
{%- endif -%}
{% endtest %}


{#- The table under test itself: with a `where`, the test is given a query in its place. -#}
{% macro tested_relation() -%}
  {%- set node = graph.nodes[model.attached_node or model.depends_on.nodes[0]] -%}
  {{ return(api.Relation.create(schema=node.schema, identifier=node.alias)) }}
{%- endmacro %}
