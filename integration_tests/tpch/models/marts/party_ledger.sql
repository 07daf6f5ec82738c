-- UNION ALL: everybody we have an account with.
SELECT
    'customer' AS party_type,
    customers.customer_id AS party_id,
    customers.customer_name AS party_name,
    nations.nation_name,
    customers.account_balance
FROM {{ ref('stg_tpch__customers') }} AS customers
INNER JOIN {{ ref('stg_tpch__nations') }} AS nations
    ON customers.nation_id = nations.nation_id

UNION ALL

SELECT
    'supplier' AS party_type,
    suppliers.supplier_id AS party_id,
    suppliers.supplier_name AS party_name,
    nations.nation_name,
    suppliers.account_balance
FROM {{ ref('stg_tpch__suppliers') }} AS suppliers
INNER JOIN {{ ref('stg_tpch__nations') }} AS nations
    ON suppliers.nation_id = nations.nation_id
