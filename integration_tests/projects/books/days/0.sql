-- The first quarter.
CREATE TABLE accounts (id INT, name STRING, kind STRING, parent INT) USING delta;
CREATE TABLE entries (id INT, booked_on DATE, currency STRING, posted BOOLEAN, version INT) USING delta;
CREATE TABLE lines (entry INT, line INT, account INT, side STRING, amount DECIMAL(12,2)) USING delta;
CREATE TABLE fx_rates (currency STRING, valid_on DATE, rate DECIMAL(10,4)) USING delta;
CREATE TABLE invoices (id INT, customer STRING, amount DECIMAL(12,2), due_on DATE) USING delta;
CREATE TABLE payments (id INT, invoice INT, amount DECIMAL(12,2), paid_on DATE) USING delta;
INSERT INTO accounts VALUES (1000, 'assets', 'asset', NULL), (1200, 'receivables', 'asset', 1000), (1800, 'bank', 'asset', 1000),
    (4000, 'sales', 'income', NULL), (5000, 'goods', 'expense', NULL), (6000, 'rent', 'expense', NULL),
    (6100, 'rent of the shop', 'expense', 6000);
INSERT INTO fx_rates VALUES ('USD', date '2024-01-01', 0.9), ('USD', date '2024-02-10', 0.92), ('CHF', date '2024-01-20', 1.05);
INSERT INTO entries SELECT id, date '2024-01-03' + (id * 3), element_at(array('EUR', 'USD', 'CHF'), 1 + id % 3), id % 10 <> 9, 1
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 31));
INSERT INTO lines SELECT id, 1, element_at(array(1200, 5000, 6100, 1800), 1 + id % 4), 'D', 10 * (1 + id % 7)
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 31));
INSERT INTO lines SELECT id, 2, element_at(array(4000, 1800, 1800, 1200), 1 + id % 4), 'C', 10 * (1 + id % 7)
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 31));
INSERT INTO invoices SELECT id, concat('customer ', id % 6), 20 + id, date '2023-12-15' + (id * 5)
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 25));
INSERT INTO payments SELECT id, id * 2, 20 + id * 2, date '2024-02-01'
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 9));
