-- An entry is booked again, accounts get other names and parents, a payment bounces, an invoice is written off.
UPDATE lines SET amount = 41.10 WHERE entry = 5;
UPDATE entries SET version = 3 WHERE id = 5;
INSERT INTO accounts VALUES (6200, 'power', 'expense', 6000);
UPDATE accounts SET name = 'rents' WHERE id = 6000;
UPDATE accounts SET parent = 1200 WHERE id = 1800;
DELETE FROM payments WHERE id = 21;
DELETE FROM invoices WHERE id IN (1, 30);
INSERT INTO entries VALUES (33, date '2024-05-02', 'SEK', true, 3);
INSERT INTO lines VALUES (33, 1, 6200, 'D', 5), (33, 2, 1800, 'C', 5);
