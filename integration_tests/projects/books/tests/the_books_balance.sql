{{ config(severity='warn') }}
select sum(amount) as off from {{ ref('fct_lines') }} having sum(amount) <> 0
