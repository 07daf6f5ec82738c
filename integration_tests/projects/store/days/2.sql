-- A customer moves, one leaves, a product gets its category, orders change hands, and an item is given back.
UPDATE customers SET country = 'ch', updated_at = timestamp '2024-02-10' WHERE id IN (2, 5);
DELETE FROM customers WHERE id = 20;
UPDATE products SET category = 'c1' WHERE id = 5;
UPDATE orders SET customer_id = 1, updated_at = timestamp '2024-02-10' WHERE id IN (10, 11);
DELETE FROM order_items WHERE order_id = 12 AND line = 1;
UPDATE orders SET updated_at = timestamp '2024-02-10' WHERE id = 12;
INSERT INTO order_items VALUES (63, 1, 1, 2, 1250, now());
UPDATE orders SET updated_at = timestamp '2024-02-10', ordered_at = timestamp '2024-02-10' WHERE id = 63;
