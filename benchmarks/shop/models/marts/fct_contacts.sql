select 'customer' as kind, customer_id as id, name, nation_id from {{ ref('stg_customers') }}
union all
select 'supplier', supplier_id, name, nation_id from {{ ref('stg_suppliers') }}
