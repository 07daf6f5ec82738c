{#- A table's changes as a relation, in one of the encodings 'append', 'retract' and 'upsert':
      select * from {{ changelog(ref('clicks_per_user'), 'upsert') }}
    Beside the table's columns it has _commit_version and _commit_timestamp, and but for 'append' the boolean _flag. -#}
{% macro changelog(relation, mode='retract', key=none, since=none) -%}
  {%- if execute -%}
    ({{ adapter.changelog(relation, mode, key, since, model) }})
  {%- else -%}
    {{ relation }}
  {%- endif -%}
{%- endmacro %}
