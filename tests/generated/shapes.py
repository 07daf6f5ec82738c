"""One SELECT for each construct that is maintained by change, over the tables of `tables`.

Where a result depends on the order of rows, the order is complete: a table that differs from its query is ours.
"""

from __future__ import annotations

SHAPES: dict[str, str] = {
    "left_join": ("SELECT s.store, s.qty, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store"),
    "comma_joins": (
        "SELECT t.city, i.kind, s.qty, u.store FROM stores t, items i, sales s, stores u WHERE s.store = t.store AND "
        "s.item = i.item AND t.area + s.qty = u.area"
    ),
    "join_by_alternatives": (
        "SELECT s.id, t.city FROM sales s, stores t WHERE (s.store = t.store AND s.qty > 1) OR (t.area > 1 AND "
        "s.store = t.store AND s.online)"
    ),
    "left_join_conditions": (
        "SELECT s.store, s.qty, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store AND t.area > 1 "
        "AND s.qty > 1"
    ),
    "join_on_tests": (
        "SELECT s.store, t.city FROM (SELECT store, qty BETWEEN 1 AND 2 AS few FROM sales) s JOIN (SELECT store, city, "
        "area IN (1, 2) AS small FROM stores) t ON s.store = t.store AND s.few = t.small"
    ),
    "right_join": (
        "SELECT s.store, s.qty, t.city FROM sales s RIGHT JOIN stores t ON s.store = t.store WHERE s.qty IS "
        "NULL OR s.qty > 0"
    ),
    "full_join": (
        "SELECT s.store AS a, t.store AS b, s.qty, t.city FROM sales s FULL OUTER JOIN stores t ON s.store = "
        "t.store AND s.qty > 1"
    ),
    "full_join_conditions": (
        "SELECT s.qty, t.city FROM sales s FULL JOIN stores t ON s.store = t.store AND t.area > 1 AND s.qty > 1"
    ),
    "full_join_using": ("SELECT store, qty, city FROM sales FULL JOIN stores USING (store)"),
    "right_join_using": ("SELECT store, qty, city FROM sales RIGHT JOIN stores USING (store)"),
    "anti_join": ("SELECT s.* FROM sales s LEFT ANTI JOIN stores t ON s.store = t.store AND t.opened > s.day"),
    "left_join_range": ("SELECT s.store, t.city FROM sales s LEFT JOIN stores t ON s.qty < t.store"),
    "exists_residual": (
        "SELECT s.store FROM sales s WHERE EXISTS (SELECT 1 FROM stores t WHERE t.store = s.store AND t.area > s.qty)"
    ),
    "not_exists": (
        "SELECT s.store FROM sales s WHERE NOT EXISTS (SELECT * FROM stores t WHERE t.store = s.store) AND s.qty > 0"
    ),
    "in_subquery": ("SELECT s.store, s.qty FROM sales s WHERE s.store IN (SELECT store FROM stores)"),
    "not_in": (
        "SELECT s.store, s.qty FROM sales s WHERE s.store NOT IN (SELECT store FROM stores WHERE city IS NOT NULL)"
    ),
    "not_in_correlated": (
        "SELECT s.store, s.qty FROM sales s WHERE s.store NOT IN (SELECT t.store FROM stores t WHERE t.store "
        "IS NOT NULL AND t.store = s.qty)"
    ),
    "scalar_total": ("SELECT s.store FROM sales s WHERE s.qty > (SELECT AVG(qty) FROM sales)"),
    "scalar_correlated": (
        "SELECT s.store FROM sales s WHERE s.qty >= (SELECT MAX(x.qty) FROM sales x WHERE x.store = s.store)"
    ),
    "scalars_in_select": (
        "SELECT s.store, (SELECT COUNT(*) FROM stores t WHERE t.store = s.store) AS n, (SELECT SUM(area) FROM "
        "stores) AS a FROM sales s"
    ),
    "scalar_correlated_range": (
        "SELECT s.store, (SELECT COUNT(*) FROM stores t WHERE t.store < s.store) AS n FROM sales s"
    ),
    "case_over_subqueries": (
        "SELECT s.store, CASE WHEN s.store IN (SELECT store FROM stores) THEN 1 WHEN EXISTS (SELECT 1 FROM "
        "items i WHERE i.item = s.item) THEN 2 ELSE 3 END AS c FROM sales s"
    ),
    "having_asks_in": (
        "SELECT DISTINCT COUNT(*) AS n FROM sales s JOIN stores t USING (store) GROUP BY s.item "
        "HAVING SUM(qty) IN (SELECT t.kind FROM items t) OR n IN (SELECT t.store FROM stores t) OR COUNT(*) > 2"
    ),
    "having_asks_not_in": (
        "SELECT store, SUM(qty) AS q FROM sales s GROUP BY store HAVING COUNT(*) NOT IN (SELECT kind FROM items "
        "WHERE kind > 0) AND SUM(qty) > (SELECT MIN(area) FROM stores t WHERE t.store = s.store) ORDER BY q, 1 LIMIT 3"
    ),
    "having_asks_exists": (
        "SELECT store FROM sales s GROUP BY store "
        "HAVING EXISTS (SELECT 1 FROM stores t WHERE t.store = s.store AND t.area < SUM(s.qty))"
    ),
    "having_asks_a_value": (
        "SELECT store, item, MIN(price) AS p FROM sales s GROUP BY store, item "
        "HAVING (SELECT COUNT(*) FROM stores t WHERE t.area < SUM(s.qty) AND t.store <> s.store) > 0"
    ),
    "having_asks_of_sets": (
        "SELECT store, item, COUNT(*) AS n FROM sales GROUP BY ROLLUP (store, item) "
        "HAVING SUM(qty) IN (SELECT store FROM stores) OR GROUPING(item) = 1"
    ),
    "having_asks_of_expressions": (
        "SELECT qty % 2 AS p, store, COUNT(*) AS n FROM sales GROUP BY qty % 2, 2 "
        "HAVING SUM(qty % 2) IN (SELECT store FROM stores) OR qty % 2 > 0"
    ),
    "having_asks_of_all": (
        "SELECT store, 1 AS one, COUNT(*) AS n FROM sales GROUP BY ALL HAVING MAX(qty) NOT IN (SELECT kind FROM items)"
    ),
    "having_subquery": (
        "SELECT s.store, SUM(s.qty) AS q FROM sales s GROUP BY s.store HAVING SUM(s.qty) > (SELECT AVG(qty) FROM sales)"
    ),
    "scalar_beside_groups": (
        "SELECT s.store, SUM(s.qty) AS q, (SELECT MAX(area) FROM stores) AS c FROM sales s GROUP BY s.store"
    ),
    "intersect": ("SELECT store FROM sales INTERSECT SELECT store FROM stores"),
    "intersect_all": "SELECT store, qty FROM sales INTERSECT ALL SELECT store, qty FROM sales WHERE online",
    "except_all": "SELECT store, item FROM sales EXCEPT ALL SELECT kind, item FROM items",
    "except": ("SELECT store, item FROM sales EXCEPT SELECT kind, item FROM items"),
    "row_number": ("SELECT store, qty, ROW_NUMBER() OVER (PARTITION BY store ORDER BY qty, day) AS rn FROM sales"),
    "ranks_and_totals": (
        "SELECT store, qty, RANK() OVER (PARTITION BY store ORDER BY qty) AS rn, DENSE_RANK() OVER (PARTITION "
        "BY store ORDER BY qty DESC) AS dr, SUM(qty) OVER (PARTITION BY store) AS s, COUNT(*) OVER (ORDER BY "
        "qty) AS c FROM sales"
    ),
    "lag_and_first": (
        "SELECT store, qty, LAG(qty) OVER (PARTITION BY store ORDER BY day, item, price, online, qty) AS l, "
        "FIRST_VALUE(qty) OVER (PARTITION BY store ORDER BY day, item, price, online, qty) AS f FROM sales"
    ),
    "rows_frame": (
        "SELECT store, qty, SUM(qty) OVER (PARTITION BY store ORDER BY day, item, price, online, qty ROWS "
        "BETWEEN 1 PRECEDING AND CURRENT ROW) AS l FROM sales"
    ),
    "latest_per_key": (
        "SELECT store, item, qty, price, day, online FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY store "
        "ORDER BY day DESC, item, price, online, qty) AS rn FROM sales) x WHERE rn = 1"
    ),
    "qualify_top_two": (
        "SELECT store, qty FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY store ORDER BY qty DESC) <= 2"
    ),
    "latest_per_key_in_part": (
        "SELECT store, day, UPPER(item) AS item FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY store ORDER BY day "
        "DESC, qty, item, price, online, id) AS rn FROM sales) x WHERE rn = 1"
    ),
    "latest_of_a_join": (
        "SELECT s.store, s.day, s.item, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store QUALIFY "
        "ROW_NUMBER() OVER (PARTITION BY s.store ORDER BY s.day DESC, s.item, t.city) = 1"
    ),
    "first_of_all": ("SELECT item, qty FROM sales QUALIFY ROW_NUMBER() OVER (ORDER BY qty DESC NULLS FIRST, item) = 1"),
    "top_two_in_places": (
        "SELECT store, qty, rn FROM (SELECT store, qty, ROW_NUMBER() OVER (PARTITION BY store ORDER BY qty DESC) AS rn "
        "FROM sales) x WHERE rn < 3"
    ),
    "top_of_computed_partitions": (
        "SELECT store, day, qty FROM sales QUALIFY ROW_NUMBER() OVER (PARTITION BY YEAR(day) ORDER BY qty, store, day) "
        "<= 2"
    ),
    "limit_by_what_is_computed": "SELECT store, qty FROM sales ORDER BY qty * 2 DESC, store LIMIT 3",
    "windows_over_groups": (
        "SELECT store, SUM(qty) AS q, RANK() OVER (ORDER BY SUM(qty) DESC) AS r, SUM(SUM(qty)) OVER () AS t "
        "FROM sales GROUP BY store"
    ),
    "top_groups": ("SELECT store, SUM(qty) AS q FROM sales GROUP BY store ORDER BY q DESC, store LIMIT 2"),
    "limit_and_offset": ("SELECT store, qty FROM sales ORDER BY qty DESC NULLS LAST, store, 1 LIMIT 3 OFFSET 1"),
    "rollup": ("SELECT store, item, SUM(qty) AS q, GROUPING(store) AS g FROM sales GROUP BY ROLLUP (store, item)"),
    "cube": ("SELECT store, item, COUNT(*) AS q FROM sales GROUP BY CUBE (store, item)"),
    "grouping_sets": ("SELECT store, item, COUNT(*) AS q FROM sales GROUP BY GROUPING SETS ((store), (item), ())"),
    "values": ("SELECT s.store, v.b FROM sales s JOIN (VALUES (1, 'x'), (2, 'y')) AS v(a, b) ON s.store = v.a"),
    "outer_joins_in_a_row": (
        "SELECT s.store, t.city, i.kind FROM sales s LEFT JOIN stores t ON s.store = t.store LEFT JOIN items "
        "i ON s.item = i.item WHERE t.city IS NOT NULL"
    ),
    "groups_over_outer_joins": (
        "SELECT t.city, COUNT(i.kind) AS n FROM stores t LEFT JOIN sales s ON s.store = t.store LEFT JOIN "
        "items i ON s.item = i.item GROUP BY t.city"
    ),
    "outer_join_with_groups": (
        "SELECT d.store, d.sold, s.qty FROM stores t LEFT JOIN day_totals d ON d.store = t.store LEFT JOIN "
        "sales s ON s.store = d.store AND s.day = d.last_day"
    ),
    "cte_twice": (
        "WITH x AS (SELECT store, MAX(qty) AS m FROM sales GROUP BY store) SELECT a.store, b.m FROM x a LEFT "
        "JOIN x b ON a.store < b.store WHERE a.m > (SELECT MIN(m) FROM x)"
    ),
    "union_limit": ("SELECT store, qty FROM sales UNION SELECT store, 1 FROM stores ORDER BY store, qty LIMIT 3"),
    "distinct_limit": ("SELECT DISTINCT store, qty FROM sales ORDER BY qty, store LIMIT 2"),
    "lateral_rows": "SELECT s.store, l.* FROM stores s, LATERAL (SELECT i.* FROM items i WHERE i.kind = s.store) l",
    "lateral_aggregates": (
        "SELECT t.store, l.n, l.m FROM stores t, LATERAL (SELECT COUNT(*) AS n, MAX(s.qty) AS m FROM sales s WHERE "
        "s.store = t.store) l"
    ),
    "lateral_having": (
        "SELECT t.store, l.n FROM stores t, LATERAL (SELECT COUNT(*) AS n FROM sales s HAVING COUNT(*) > 7) l"
    ),
    "lateral_top": (
        "SELECT t.store, l.qty, l.day FROM stores t LEFT JOIN LATERAL (SELECT s.qty, s.day FROM sales s WHERE s.store "
        "= t.store ORDER BY s.qty DESC, s.day LIMIT 2) l ON l.qty > 0"
    ),
    "lateral_groups": (
        "SELECT t.store, l.item, l.q FROM stores t JOIN LATERAL (SELECT s.item, SUM(s.qty) AS q FROM sales s WHERE "
        "s.store = t.store GROUP BY s.item HAVING COUNT(*) > 1) l ON l.q > 1"
    ),
    "correlated_top": (
        "SELECT t.store, (SELECT s.qty FROM sales s WHERE s.store = t.store ORDER BY s.qty DESC LIMIT 1) AS q "
        "FROM stores t"
    ),
    "exists_groups": (
        "SELECT t.store FROM stores t WHERE EXISTS (SELECT s.item FROM sales s WHERE s.store = t.store GROUP BY s.item "
        "HAVING COUNT(*) > 1)"
    ),
    "in_groups": (
        "SELECT t.store FROM stores t WHERE t.store NOT IN (SELECT COALESCE(MAX(s.qty), 0) FROM sales s WHERE s.store "
        "= t.store GROUP BY s.item)"
    ),
    "in_pairs": ("SELECT s.store FROM sales s WHERE (s.store, s.item) IN (SELECT kind, item FROM items)"),
    "exists_in_exists": (
        "SELECT s.store FROM sales s WHERE EXISTS (SELECT 1 FROM stores t WHERE t.store = s.store AND EXISTS "
        "(SELECT 1 FROM items i WHERE i.kind = t.store))"
    ),
    "or_exists": (
        "SELECT s.store FROM sales s WHERE s.qty > 1 OR EXISTS (SELECT 1 FROM stores t WHERE t.store > s.store)"
    ),
    "groups_over_a_window": (
        "SELECT store, MAX(rn) AS m FROM (SELECT store, ROW_NUMBER() OVER (PARTITION BY item ORDER BY store, "
        "qty) AS rn FROM sales) x GROUP BY store"
    ),
    "lateral_view": (
        "SELECT s.store, v.x FROM sales s LATERAL VIEW EXPLODE(ARRAY(s.qty, s.store)) v AS x WHERE v.x > 1"
    ),
    "explode_in_select": ("SELECT s.store, EXPLODE(ARRAY(s.qty, s.store)) AS x FROM sales s"),
    "groups_over_explode": (
        "SELECT v.x, COUNT(*) AS n FROM sales s LATERAL VIEW EXPLODE(ARRAY(s.qty, s.store)) v AS x GROUP BY v.x"
    ),
    "arrays": (
        "SELECT store, SORT_ARRAY(COLLECT_LIST(qty)) AS l, SORT_ARRAY(COLLECT_SET(item)) AS s, "
        "SIZE(COLLECT_LIST(price)) AS n FROM sales GROUP BY store"
    ),
    "picked_by_rank": (
        "SELECT store, MAX_BY(CAST(qty AS STRING), qty) AS most, MIN_BY(item || '!', item) AS first "
        "FROM sales GROUP BY store"
    ),
    "any_of_equals": "SELECT store, ANY_VALUE(store + 1) AS a, FIRST(store) AS b FROM sales GROUP BY store",
    "listed_in_order": (
        "SELECT store, LISTAGG(CAST(qty AS STRING), ',') WITHIN GROUP (ORDER BY qty) AS l FROM sales GROUP BY store"
    ),
    "median": "SELECT store, MEDIAN(qty) AS m FROM sales GROUP BY store",
    "filtered_picks": (
        "SELECT store, MAX_BY(CAST(qty AS STRING), qty) FILTER (WHERE online) AS a, COUNT(DISTINCT item) "
        "FILTER (WHERE qty > 1) AS b FROM sales GROUP BY store"
    ),
    "having_of_a_value": (
        "SELECT t.store, (SELECT MAX(s.qty) FROM sales s WHERE s.store = t.store HAVING COUNT(*) > 1) AS m, (SELECT "
        "COUNT(*) AS n FROM sales s WHERE s.store = t.store HAVING n = 0) AS z FROM stores t"
    ),
    "exists_having": (
        "SELECT t.store FROM stores t WHERE EXISTS (SELECT COUNT(*) FROM sales s WHERE s.store = t.store HAVING "
        "COUNT(*) > 1) OR NOT EXISTS (SELECT MAX(s.qty) FROM sales s WHERE s.item = t.city HAVING MAX(s.qty) > 0)"
    ),
    "exists_of_a_total": "SELECT t.store FROM stores t WHERE EXISTS (SELECT MAX(s.qty) FROM sales s)",
    "in_a_total": (
        "SELECT t.store FROM stores t WHERE t.store IN (SELECT COUNT(*) FROM sales s WHERE s.store = t.store) OR "
        "t.store IN (SELECT MAX(s.qty) FROM sales s WHERE s.store = t.store HAVING COUNT(*) > 1)"
    ),
    "not_in_a_total": (
        "SELECT t.store, t.city FROM stores t WHERE t.store NOT IN (SELECT MAX(s.qty) FROM sales s WHERE s.store = "
        "t.store HAVING COUNT(*) > 1)"
    ),
    "lateral_having_correlated": (
        "SELECT t.store, l.n, l.m FROM stores t, LATERAL (SELECT COUNT(*) AS n, MAX(s.qty) AS m FROM sales s WHERE "
        "s.store = t.store HAVING COUNT(*) > 1) l"
    ),
    "left_lateral_having": (
        "SELECT t.store, l.n FROM stores t LEFT JOIN LATERAL (SELECT COUNT(*) AS n FROM sales s WHERE s.store = "
        "t.store HAVING COUNT(*) > 1) l ON TRUE"
    ),
    "in_pairs_or": (
        "SELECT s.store FROM sales s WHERE s.qty > 1 OR (s.store, s.item) IN (SELECT kind, item FROM items WHERE item"
        " IS NOT NULL)"
    ),
    "on_in": (
        "SELECT s.qty, t.city FROM sales s JOIN stores t ON s.store = t.store AND s.item IN (SELECT item FROM items)"
    ),
    "left_on_exists": (
        "SELECT s.qty, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store AND s.qty > 0 AND EXISTS (SELECT 1"
        " FROM items i WHERE i.kind = t.store)"
    ),
    "left_on_a_total": (
        "SELECT s.qty, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store AND t.area > (SELECT MIN(area) "
        "FROM stores)"
    ),
    "sum_of_subqueries": (
        "SELECT s.store, SUM((SELECT MAX(i.kind) FROM items i WHERE i.item = s.item) + s.qty) AS q FROM sales s GROUP"
        " BY s.store"
    ),
    "windows_of_several_partitions": (
        "SELECT store, item, COUNT(*) OVER (PARTITION BY store) AS a, SUM(qty) OVER (PARTITION BY item ORDER BY day) "
        "AS b, MAX(price) OVER () AS c FROM sales"
    ),
    "cte_in_several_places": (
        "WITH x AS (SELECT s.store, s.qty, t.city FROM sales s JOIN stores t ON s.store = t.store), y AS (SELECT "
        "store, SUM(qty) AS q FROM x GROUP BY store) SELECT a.store, a.q, b.q AS r FROM y a JOIN y b ON a.store = "
        "b.store UNION ALL SELECT store, qty, 0 FROM x"
    ),
    "picks_over": "SELECT store, qty, MAX_BY(qty, qty) OVER (PARTITION BY store) AS m FROM sales",
    "groups_by_a_computed_alias": (
        "SELECT qty % 2 AS odd, (qty + store) + 1 AS s, COUNT(*) AS n FROM sales GROUP BY odd, qty + store + 1 HAVING "
        "odd < 2"
    ),
    "derived_tables_of_the_row_outside": (
        "SELECT t.store, (SELECT COUNT(*) FROM (SELECT DISTINCT s.item FROM sales s WHERE s.store = t.store) d) AS n, "
        "(SELECT MAX(q) FROM (SELECT SUM(s.qty) AS q FROM sales s WHERE s.store = t.store AND s.qty > 0 GROUP BY "
        "s.item) d) AS q FROM stores t"
    ),
    "tests_of_derived_tables_of_the_row_outside": (
        "SELECT t.store, t.city FROM stores t WHERE EXISTS (SELECT 1 FROM (SELECT * FROM (SELECT s.qty, s.item FROM "
        "sales s WHERE s.store < t.store) d) e WHERE e.item = t.city) OR t.store IN (SELECT k FROM (SELECT s.store AS "
        "k, COUNT(*) AS n FROM sales s WHERE s.item = t.city GROUP BY s.store) d WHERE n > 1)"
    ),
    "first_rows_of_derived_tables_of_the_row_outside": (
        "SELECT t.store, (SELECT SUM(q) FROM (SELECT s.qty AS q FROM sales s WHERE s.store = t.store ORDER BY q DESC "
        "LIMIT 2) d) AS two FROM stores t WHERE EXISTS (SELECT 1 FROM (SELECT i.kind, i.item, RANK() OVER (ORDER BY "
        "i.price DESC) AS r FROM items i WHERE i.kind = t.store) d WHERE d.r = 2)"
    ),
    "not_over_alternatives": (
        "SELECT s.store, s.qty FROM sales s WHERE NOT (s.store IN (SELECT store FROM stores) OR s.qty > 1)"
    ),
    "exists_a_row_of_either": (
        "SELECT t.store, t.city FROM stores t WHERE EXISTS (SELECT 1 FROM sales s WHERE s.store = t.store AND s.qty > 2"
        " UNION ALL SELECT 1 FROM items i WHERE i.kind = t.area ORDER BY 1 LIMIT 1)"
    ),
    "distinct_by_an_expression": "SELECT DISTINCT item, qty FROM sales ORDER BY LENGTH(item) + qty DESC, 1, 2 LIMIT 3",
    "distinct_in_parentheses": "SELECT DISTINCT(item), (qty) FROM sales s ORDER BY s.qty, item LIMIT 3",
    "union_by_an_expression": (
        "SELECT store, qty FROM sales UNION SELECT city, area FROM stores ORDER BY qty * 2 - 1 DESC, store LIMIT 3"
    ),
    "left_on_exists_for_the_left_side": (
        "SELECT s.qty, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store AND EXISTS (SELECT 1 FROM items i "
        "WHERE i.kind = s.qty)"
    ),
}
"""Construct -> SELECT."""

OF_SPARK: dict[str, str] = {
    "variants_and_vectors": (
        "SELECT store, SCHEMA_OF_VARIANT_AGG(PARSE_JSON(CASE WHEN qty > 1 THEN '{\"a\": 1}' ELSE '[true]' END)) AS s, "
        "VECTOR_SUM(ARRAY(FLOAT(qty), FLOAT(1))) AS v, VECTOR_AVG(ARRAY(FLOAT(id))) AS a FROM sales GROUP BY store"
    ),
    "approx_top_k": "SELECT store, ARRAY_SORT(APPROX_TOP_K(item, 9)) AS k, COUNT(*) AS n FROM sales GROUP BY store",
    "full_on_exists": (
        "SELECT a.id, b.city FROM sales a FULL JOIN stores b ON a.store = b.store "
        "AND EXISTS (SELECT 1 FROM items i WHERE i.item = a.item)"
    ),
    "full_on_in": (
        "SELECT a.id, b.city, c.kind FROM sales a FULL OUTER JOIN stores b ON a.qty > 0 "
        "AND a.store = b.store AND b.store NOT IN (SELECT kind FROM items WHERE kind > 0) "
        "AND a.id < (SELECT MAX(kind) FROM items) LEFT JOIN items c ON c.kind = b.store"
    ),
    "windows_over_a_full_join": (
        "SELECT g.last_day, FIRST_VALUE(s.id) OVER (ORDER BY s.id) AS f FROM sales s FULL JOIN (SELECT MAX(day) AS "
        "last_day, SUM(qty) AS sold FROM sales GROUP BY store) g ON s.id = g.sold QUALIFY COUNT(s.item) OVER (ORDER BY "
        "s.store) <= 9"
    ),
    "range": "SELECT r.id, s.qty FROM RANGE(1, 4) r LEFT JOIN sales s ON s.store = r.id",
    "stack": (
        "SELECT id, v.k, v.n, j.c0 FROM sales LATERAL VIEW STACK(2, 'qty', qty, 'store', store) v AS k, n LATERAL VIEW "
        "JSON_TUPLE(item, 'a') j"
    ),
    "stars_in_functions": (
        "SELECT CONCAT_WS('|', *) AS a, HASH(t.*) AS b, STRUCT(*) AS c FROM stores t JOIN items i ON t.store = i.kind"
    ),
    "fields": (
        "SELECT x.*, STRUCT(x.a + 1 AS b) AS y, y.b + 1 AS z FROM (SELECT STRUCT(store AS a, qty AS q) AS x FROM sales)"
    ),
    "inline": "SELECT id, INLINE(ARRAY(STRUCT(store AS a, qty AS q))) FROM sales",
    "laid_out": "SELECT store, qty FROM sales DISTRIBUTE BY store SORT BY qty",
    "not_in_pairs_or": (
        "SELECT s.store FROM sales s WHERE s.qty > 1 OR (s.store, s.item) NOT IN (SELECT kind, item FROM items)"
    ),
    "star_of_a_side_of_using": (
        "SELECT s.*, i.kind, t.area FROM sales s JOIN items i USING (price, item) LEFT JOIN stores t USING (store)"
    ),
    "stars_of_outer_sides_of_using": (
        "SELECT i.*, s.id, s.qty, t.* FROM sales s FULL JOIN items i USING (item) RIGHT JOIN (SELECT city, store FROM "
        "stores) t USING (store)"
    ),
    "natural_join": "SELECT *, s.price + 1 AS p FROM items i NATURAL JOIN (SELECT price, qty, item FROM sales) s",
    "lateral_union": (
        "SELECT s.id, v.k, v.n FROM sales s, LATERAL (SELECT 'qty' AS k, s.qty AS n UNION ALL SELECT 'store', s.store "
        "UNION ALL SELECT i.item, i.kind FROM items i WHERE i.item = s.item) AS v"
    ),
    "left_lateral_union": (
        "SELECT t.city, v.* FROM stores t LEFT JOIN LATERAL (SELECT qty, item FROM sales s WHERE s.store = t.store "
        "EXCEPT (SELECT kind, item FROM items i WHERE i.kind > t.store ORDER BY kind, item LIMIT 2)) v ON v.qty > 0"
    ),
    "first_of_a_union_of_the_row_outside": (
        "SELECT t.store, (SELECT s.qty FROM sales s WHERE s.store = t.store UNION ALL "
        "SELECT i.kind FROM items i WHERE i.kind = t.store ORDER BY 1 DESC NULLS LAST LIMIT 1) AS m FROM stores t"
    ),
    "first_of_unions_in_a_union": (
        "SELECT t.store, q.v FROM stores t, LATERAL ((SELECT s.qty AS v FROM sales s WHERE s.store = t.store UNION ALL "
        "SELECT i.kind FROM items i WHERE i.kind < t.store ORDER BY v DESC LIMIT 1 OFFSET 1) UNION ALL SELECT 7) q"
    ),
    "aggregates_of_unions_of_the_row_outside": (
        "SELECT t.store, (SELECT MAX(v) FROM (SELECT SUM(s.qty) AS v FROM sales s WHERE s.store = t.store "
        "GROUP BY s.item UNION ALL SELECT i.kind FROM items i WHERE t.store = i.kind AND i.price > 0) q) AS m, "
        "(SELECT COUNT(*) FROM (SELECT s.qty FROM sales s WHERE s.store = t.store "
        "EXCEPT ALL (SELECT DISTINCT i.kind FROM items i WHERE i.kind = t.store)) q(v)) AS n FROM stores t"
    ),
    "exists_in_a_union_of_the_row_outside": (
        "SELECT t.store FROM stores t WHERE EXISTS (SELECT 1 FROM (SELECT s.qty AS v FROM sales s "
        "WHERE s.store = t.store UNION SELECT i.kind FROM items i WHERE i.kind = t.store) x WHERE x.v > 1)"
    ),
    "first_behind_parentheses": (
        "SELECT t.store, ((SELECT s.qty FROM sales s WHERE s.store = t.store) ORDER BY 1 DESC LIMIT 1) AS m "
        "FROM stores t"
    ),
    "first_of_the_first": (
        "SELECT * FROM ((SELECT store, qty FROM sales ORDER BY qty, store LIMIT 5) ORDER BY store DESC, qty LIMIT 2) q"
    ),
    "first_of_the_first_behind_parentheses": (
        "((SELECT store, qty FROM sales) ORDER BY qty, store LIMIT 4) ORDER BY store DESC, qty LIMIT 1 + 1"
    ),
    "first_distinct_of_the_row_outside": (
        "SELECT t.city, v.q, v.i FROM stores t, LATERAL (SELECT DISTINCT s.qty + 1 AS q, item AS i FROM sales s WHERE "
        "s.store = t.store ORDER BY q DESC, i LIMIT 2) v"
    ),
    "union_in_subqueries": (
        "SELECT t.city, EXISTS (SELECT 1 FROM sales s WHERE s.store = t.store AND s.qty > 1 UNION SELECT 2 FROM items "
        "i WHERE i.kind = t.store) AS sold FROM stores t WHERE t.area > 1 OR t.store IN (SELECT 1 UNION SELECT 2)"
    ),
    "union_in_conditions": (
        "SELECT t.city FROM stores t WHERE EXISTS (SELECT 1 FROM sales s WHERE s.store = t.store AND s.qty > 1 UNION "
        "SELECT 2 FROM items i WHERE i.kind = t.store) AND t.store IN (SELECT qty FROM sales s WHERE s.store = t.store "
        "INTERSECT SELECT kind FROM items)"
    ),
    "joins_in_parentheses": (
        "SELECT t.*, s.qty, i.kind, item FROM stores t LEFT JOIN (sales s JOIN items i USING (item)) ON t.store = "
        "s.store, (SELECT MAX(qty) AS q FROM sales) WHERE q > 0"
    ),
    "joins_in_parentheses_using": (
        "SELECT *, i.item AS other FROM stores t JOIN (items i JOIN (SELECT id, store, item FROM sales) s USING "
        "(item)) USING (store)"
    ),
    "joins_in_parentheses_named": (
        "SELECT j.*, k.a FROM (sales s JOIN stores t USING (store)) AS j JOIN ((items i CROSS JOIN (SELECT 1 AS one) "
        "o) AS k (a, b, c, d, e)) ON j.item = k.a AND k.b = j.store"
    ),
    "semi_join_using": ("SELECT * FROM sales LEFT SEMI JOIN stores USING (store)"),
    "in_as_a_value": (
        "SELECT s.store, s.store IN (SELECT store FROM stores) AS c, s.store NOT IN (SELECT store FROM stores "
        "WHERE store IS NOT NULL) AS d FROM sales s"
    ),
    "percentiles": (
        "SELECT store, MEDIAN(qty) AS m, PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY qty) AS c, PERCENTILE_DISC(0.5) "
        "WITHIN GROUP (ORDER BY qty DESC) AS d FROM sales GROUP BY store"
    ),
    "scalar_array": (
        "SELECT t.store, (SELECT SORT_ARRAY(COLLECT_SET(s.qty)) FROM sales s WHERE s.store = t.store) AS q "
        "FROM stores t"
    ),
    "pivot": (
        "SELECT p.store, p.many, q.few_s FROM (SELECT store, item, qty FROM sales) PIVOT (SUM(qty) FOR item IN ('a' AS "
        "many, 'b')) p JOIN (SELECT * FROM (SELECT store, item, qty FROM sales) PIVOT (SUM(qty) AS s, COUNT(*) AS n "
        "FOR item IN ('b' AS few, 'c'))) q ON p.store = q.store"
    ),
    "unpivot": "SELECT * FROM (SELECT id, store, qty FROM sales) UNPIVOT (v FOR n IN (store, qty AS `how many`))",
    "moments": (
        "SELECT store, CORR(qty, store) AS c, COVAR_POP(qty, store) AS p, SKEWNESS(qty) AS s, KURTOSIS(qty) AS k, "
        "REGR_COUNT(qty, store) AS r, MODE(qty, TRUE) AS m, TRY_SUM(qty) AS t, STD(qty) AS d, SOME(online) AS o, "
        "ANY(online) AS a FROM sales GROUP BY store"
    ),
    "pipes": (
        "FROM sales |> WHERE qty >= 0 |> SELECT store, qty, item |> ORDER BY ALL |> LIMIT 5 |> WHERE item <> 'a' |> "
        "EXTEND qty + 1 AS more |> AGGREGATE COUNT(*) AS n, SUM(more) AS q GROUP BY store AS s |> AS x |> FULL JOIN "
        "stores t ON t.store = x.s AND n > 0 |> SELECT DISTINCT x.s, q, t.city, t.area |> DROP area |> UNION ALL "
        "(FROM items |> SELECT kind, kind, item)"
    ),
    "left_lateral_generator": (
        "SELECT s.id, v.x, w.y FROM sales s LEFT JOIN LATERAL EXPLODE(IF(qty > 1, ARRAY(qty, store), NULL)) v(x) ON "
        "TRUE JOIN LATERAL EXPLODE(ARRAY(id, store)) w(y) ON w.y > 1"
    ),
    "order_by_all": "SELECT store, qty FROM sales UNION ALL SELECT kind, 1 FROM items ORDER BY ALL DESC LIMIT 1 + 2",
    "in_groups_as_a_value": (
        "SELECT t.store, t.store IN (SELECT s.qty FROM sales s WHERE s.store = t.store GROUP BY s.qty HAVING COUNT(*) "
        "> 1) AS a, CASE WHEN t.store NOT IN (SELECT s.qty FROM sales s WHERE s.item = t.city UNION SELECT i.kind FROM "
        "items i WHERE i.item = t.city) THEN 1 ELSE 0 END AS b FROM stores t"
    ),
    "functions_as_written": (
        "SELECT store, LISTAGG(item) WITHIN GROUP (ORDER BY item) AS l, MAX('it''s') AS q, TO_CHAR(SUM(price), "
        "'999.99') AS p, LOG10(SUM(qty)) AS g, UNIX_DATE(MAX(day)) AS d, ARRAY_SIZE(IF(SUM(qty) > 2, ARRAY(1), NULL)) "
        "AS z FROM sales GROUP BY store"
    ),
    "not_a_number": (
        "SELECT NANVL(CAST(price AS FLOAT), 0) AS v, COUNT(*) AS n, MAX(NANVL(CAST(qty AS FLOAT), -1.5)) AS m "
        "FROM sales GROUP BY NANVL(CAST(price AS FLOAT), 0)"
    ),
    "generators_of_constants": (
        "SELECT n, x, COUNT(store) AS c FROM EXPLODE(ARRAY(1, 2, 3)) AS t(n) LEFT JOIN sales ON qty = n CROSS JOIN "
        "POSEXPLODE(ARRAY('a', 'b')) AS u(p, x) GROUP BY n, x"
    ),
    "values_as_a_query": (
        "WITH v(store, rank) AS (VALUES ('a', 1), ('b', 2)), w AS (VALUES (1), (2) AS t(n)) SELECT v.store, rank, n, "
        "SUM(qty) AS q FROM v JOIN sales s ON v.store = s.store, w, LATERAL (VALUES (1), (2)) u(m) WHERE m = rank "
        "GROUP BY ALL UNION ALL VALUES ('z', 0, 0, CAST(0 AS BIGINT))"
    ),
    "bits_and_counts": (
        "SELECT store, BITMAP_CONSTRUCT_AGG(BITMAP_BIT_POSITION(qty)) AS b, COUNT_MIN_SKETCH(item, 0.5D, 0.5D, 1) AS c "
        "FROM sales GROUP BY store"
    ),
    "grouped_by_null": "SELECT NULL AS nothing, COUNT(*) AS n, SUM(qty) AS q FROM sales GROUP BY NULL",
    "grouped_by_null_too": "SELECT store, NULL AS nothing, COUNT(*) AS n FROM sales GROUP BY store, NULL",
    "distinct_nulls": "SELECT n, COUNT(*) AS c FROM (SELECT DISTINCT store, NULL AS n FROM sales) GROUP BY n",
    "union_of_nulls": "SELECT store AS s, NULL AS n FROM sales UNION SELECT city, NULL FROM stores",
    "except_of_nulls": "SELECT store AS s, NULL AS n FROM sales EXCEPT SELECT store, NULL FROM stores",
    "partitioned_by_null": (
        "SELECT store, item, day, qty, RANK() OVER (PARTITION BY NULL ORDER BY qty, store, item, day) AS r FROM sales"
    ),
    "first_of_null": (
        "SELECT store, item, n FROM (SELECT store, item, NULL AS n, ROW_NUMBER() OVER (PARTITION BY NULL ORDER BY qty, "
        "store, item, day, price) AS r FROM sales) WHERE r <= 2"
    ),
}
"""Constructs that have another meaning, or another order of columns, for Spark than for DuckDB."""
