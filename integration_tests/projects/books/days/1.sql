-- A new month: entries, one that a draft becomes, a rate, and partial and double payments, and two customers with equal sums.
INSERT INTO entries VALUES (31, date '2024-04-02', 'EUR', true, 2), (32, date '2024-04-03', 'USD', true, 2);
UPDATE entries SET posted = true, version = 2 WHERE id = 9;
INSERT INTO lines VALUES (31, 1, 6100, 'D', 700), (31, 2, 1800, 'C', 700), (32, 1, 1200, 'D', 33.33), (32, 2, 4000, 'C', 33.33);
INSERT INTO fx_rates VALUES ('USD', date '2024-04-01', 0.95);
INSERT INTO payments VALUES (20, 3, 10, date '2024-04-02'), (21, 4, 28, date '2024-04-02'), (22, 4, 28, date '2024-04-02');
INSERT INTO invoices VALUES (30, 'customer 9', 130, date '2024-04-30'), (31, 'customer 8', 130, date '2024-04-30');
