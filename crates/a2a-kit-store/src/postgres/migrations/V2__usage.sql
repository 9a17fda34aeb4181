-- What tasks take, and since when they wait for their user or for an authorization.
ALTER TABLE tasks
    ADD COLUMN event_bytes    bigint NOT NULL DEFAULT 0,
    ADD COLUMN snapshot_bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN parked         timestamptz;

UPDATE tasks SET
    event_bytes = (SELECT coalesce(sum(octet_length(body)), 0) FROM events WHERE task = tasks.key),
    snapshot_bytes = coalesce((SELECT octet_length(snapshot) FROM bodies WHERE task = tasks.key), 0),
    parked = CASE WHEN state IN (6, 8) THEN now() END;

CREATE INDEX tasks_parked ON tasks (parked) WHERE parked IS NOT NULL;
CREATE INDEX totals_of_owner ON totals (owner) WHERE whole;
