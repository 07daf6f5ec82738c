-- A day of events, some that come late and join two sessions into one, and somebody joins, an account grows, one closes.
INSERT INTO users VALUES (16, 2, 'late@example.com', timestamp '2024-04-02');
INSERT INTO web_events VALUES (200, 16, 'visit', timestamp '2024-04-02 10:00:00', '{"page": "/0"}'),
    (201, 16, 'signup', timestamp '2024-04-02 10:05:00', '{"page": "/1"}'),
    (202, 16, 'purchase', timestamp '2024-04-02 11:00:00', '{"amount": 99.99}'),
    (203, 16, 'visit', timestamp '2024-04-02 10:32:00', NULL),
    (204, 99, 'visit', timestamp '2024-04-02 10:32:00', NULL),
    (205, NULL, 'visit', timestamp '2024-04-02 10:32:00', NULL),
    (0, 1, 'Visit', timestamp '2024-02-01 07:59:00', '{"page": "/first"}');
INSERT INTO app_events VALUES (203, 16, 'visit', timestamp '2024-04-02 10:33:00', '{"page": "/again"}', '1.1');
UPDATE accounts SET seats = 10 WHERE id = 2;
UPDATE accounts SET closed_on = date '2024-04-30' WHERE id = 4;
