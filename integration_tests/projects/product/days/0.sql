-- The first days of the sources: two trackers, of which one sends some events twice.
CREATE TABLE web_events (id INT, user_id INT, name STRING, at TIMESTAMP, properties STRING) USING delta;
CREATE TABLE app_events (id INT, user_id INT, name STRING, at TIMESTAMP, properties STRING, version STRING) USING delta;
CREATE TABLE users (id INT, account_id INT, email STRING, joined_at TIMESTAMP) USING delta;
CREATE TABLE accounts (id INT, plan STRING, seats INT, opened_on DATE, closed_on DATE) USING delta;
INSERT INTO accounts SELECT id, element_at(array('free', 'team', 'company'), 1 + id % 3), 1 + id % 4,
    add_months(date '2024-01-10', id % 4), if(id = 5, date '2024-03-20', NULL)
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 8));
INSERT INTO users SELECT id, if(id % 6 = 0, NULL, 1 + id % 7), if(id % 5 = 0, ' ', concat('u', id, '@example.com')),
    timestamp '2024-01-15' + make_interval(0, 0, 0, id * 5)
    FROM (SELECT CAST(id AS INT) AS id FROM range(1, 16));
INSERT INTO web_events SELECT id, 1 + id % 15, element_at(array('Visit', 'signup', 'purchase', 'visit'), 1 + CAST(id DIV 15 AS INT) % 4),
    timestamp '2024-02-01 08:00:00' + make_interval(0, 0, 0, id * 37 % 60, 0, id * 11 % 50),
    concat('{"page": "/', id % 6, '"', if(id % 7 = 0, ', "amount": 12.5', ''), '}')
    FROM (SELECT CAST(id AS INT) AS id FROM range(0, 120));
INSERT INTO web_events SELECT * FROM web_events WHERE id % 20 = 0;
INSERT INTO app_events SELECT 1000 + id, 1 + id % 9, 'visit',
    timestamp '2024-03-01' + make_interval(0, 0, 0, id % 30, id % 24), NULL, '1.0'
    FROM (SELECT CAST(id AS INT) AS id FROM range(0, 40));
