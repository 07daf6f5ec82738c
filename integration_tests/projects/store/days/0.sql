-- The first day of the sources.
CREATE TABLE customers (id INT, name STRING, email STRING, country STRING, created_at TIMESTAMP,
    updated_at TIMESTAMP, _loaded_at TIMESTAMP) USING delta;
CREATE TABLE products (id INT, name STRING, category STRING, _loaded_at TIMESTAMP) USING delta;
CREATE TABLE orders (id INT, customer_id INT, status STRING, ordered_at TIMESTAMP, updated_at TIMESTAMP,
    _loaded_at TIMESTAMP) USING delta;
CREATE TABLE order_items (order_id INT, line INT, product_id INT, quantity INT, price_cents INT,
    _loaded_at TIMESTAMP) USING delta;
CREATE TABLE payments (id INT, order_id INT, method STRING, amount_cents INT, state STRING,
    _loaded_at TIMESTAMP) USING delta;
INSERT INTO customers SELECT id, concat('  customer ', id), concat('C', id, '@Example.com'),
    element_at(array('at', 'no', 'ch', 'xx'), 1 + id % 4), timestamp '2024-01-01' + make_interval(0, 0, 0, id),
    timestamp '2024-01-01', now() FROM (SELECT CAST(id AS INT) AS id FROM range(1, 21));
INSERT INTO products SELECT id, concat('product ', id), if(id % 5 = 0, NULL, concat('c', id % 3)), now()
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 11));
INSERT INTO orders SELECT id, 1 + id % 17, if(id % 9 = 0, 'cancelled', 'placed'),
    timestamp '2024-02-01' + make_interval(0, 0, 0, id % 7), timestamp '2024-02-08', now()
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 61));
INSERT INTO order_items SELECT 1 + id % 60, 1 + id DIV 60, 1 + id % 10, 1 + id % 3, 100 * (1 + id % 11), now()
    FROM (SELECT CAST(id AS INT) AS id FROM range(0, 150));
INSERT INTO payments SELECT id, id, element_at(array('card', 'transfer', 'voucher'), 1 + id % 3), 100,
    if(id % 8 = 0, 'pending', 'settled'), now() FROM (SELECT CAST(id AS INT) AS id FROM range(1, 51));
