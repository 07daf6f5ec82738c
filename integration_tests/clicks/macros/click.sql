{# Plays the web site: `dbt run-operation click --args '{user: Mary, time: "2024-05-01 12:00:00", url: ./home}'`. #}
{% macro click(user, time, url) %}
  {% do create_clicks() %}
  {% set insertion %}
    insert into {{ target.schema }}.clicks values ('{{ user }}', timestamp '{{ time }}', '{{ url }}')
  {% endset %}
  {% do run_query(insertion) %}
{% endmacro %}


{# Makes the empty table of clicks, unless it is there. #}
{% macro create_clicks() %}
  {% do run_query("create schema if not exists " ~ target.schema) %}
  {% set creation %}
    create table if not exists {{ target.schema }}.clicks (user string, cTime timestamp, url string)
    using delta
    tblproperties (delta.enableChangeDataFeed = true)
  {% endset %}
  {% do run_query(creation) %}
{% endmacro %}
