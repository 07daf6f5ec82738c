-- Somebody asks to be forgotten but for what was paid, an account changes its plan, events are taken back, a tracker gets another column.
DELETE FROM users WHERE id = 3;
DELETE FROM web_events WHERE user_id = 3 AND name <> 'purchase';
DELETE FROM app_events WHERE user_id = 3;
UPDATE accounts SET plan = 'company' WHERE id = 1;
DELETE FROM web_events WHERE id = 203;
UPDATE users SET account_id = 7 WHERE id IN (6, 12);
ALTER TABLE app_events ADD COLUMNS (device STRING);
INSERT INTO app_events VALUES (1100, 6, 'purchase', timestamp '2024-05-05', '{"amount": 5}', '1.2', 'phone');
UPDATE web_events SET at = at + INTERVAL 20 MINUTES WHERE id BETWEEN 3 AND 8;
