-- What an owner has, so that it needs no counting, and since when tasks wait.
ALTER TABLE tasks ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
-- While a task waits for its user or for an authorization: since when, by the clock of the store,
-- in milliseconds since 1970.
ALTER TABLE tasks ADD COLUMN parked INTEGER;
ALTER TABLE scopes ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

CREATE INDEX tasks_parked ON tasks (parked) WHERE parked IS NOT NULL;
CREATE INDEX scopes_of_owner ON scopes (owner);

UPDATE tasks SET
    bytes = (SELECT ifnull(sum(length(body)), 0) FROM snapshots WHERE task = tasks.no)
        + (SELECT ifnull(sum(length(body)), 0) FROM events WHERE task = tasks.no),
    parked = iif(state IN (6, 8), millis, NULL);
UPDATE scopes SET bytes = (SELECT ifnull(sum(bytes), 0) FROM tasks WHERE scope = scopes.no);

CREATE TRIGGER task_weighed AFTER UPDATE OF bytes ON tasks WHEN old.bytes <> new.bytes BEGIN
    UPDATE scopes SET bytes = bytes + new.bytes - old.bytes WHERE no = new.scope;
END;

CREATE TRIGGER task_unweighed BEFORE DELETE ON tasks BEGIN
    UPDATE scopes SET bytes = bytes - old.bytes WHERE no = old.scope;
END;
