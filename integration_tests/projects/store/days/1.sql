-- New orders of old and new customers, late ones among them, and payments that settle.
INSERT INTO customers VALUES (21, 'late riser', 'L@X.org', 'no', timestamp '2024-02-09', timestamp '2024-02-09', now());
INSERT INTO orders VALUES (61, 21, 'placed', timestamp '2024-02-09', timestamp '2024-02-09', now()),
    (62, 3, 'placed', timestamp '2024-02-02', timestamp '2024-02-09', now()),
    (63, 3, 'placed', NULL, timestamp '2024-02-09', now());
INSERT INTO order_items VALUES (61, 1, 2, 5, 999, now()), (61, 2, 2, 5, 999, now()), (62, 1, 7, 1, 150, now());
UPDATE payments SET state = 'settled' WHERE id IN (8, 16);
UPDATE orders SET updated_at = timestamp '2024-02-09' WHERE id IN (8, 16);
INSERT INTO payments VALUES (51, 61, 'voucher', 500, 'settled', now());
