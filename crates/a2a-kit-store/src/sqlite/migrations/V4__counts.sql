-- A page merges the entries of all states, so that a write changes two indexes, not four.
DROP INDEX tasks_of_scope;
DROP INDEX tasks_of_context;

-- How many tasks there are, by the number of their state, so that totals need no counting. The
-- writer adds up the changes of a transaction.
ALTER TABLE scopes ADD COLUMN in_state_0 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_3 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_4 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_5 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_6 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_7 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scopes ADD COLUMN in_state_8 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_0 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_1 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_2 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_3 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_4 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_5 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_6 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_7 INTEGER NOT NULL DEFAULT 0;
ALTER TABLE contexts ADD COLUMN in_state_8 INTEGER NOT NULL DEFAULT 0;

UPDATE scopes SET
    in_state_0 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 0), 0),
    in_state_1 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 1), 0),
    in_state_2 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 2), 0),
    in_state_3 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 3), 0),
    in_state_4 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 4), 0),
    in_state_5 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 5), 0),
    in_state_6 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 6), 0),
    in_state_7 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 7), 0),
    in_state_8 = ifnull((SELECT tasks FROM scope_counts WHERE scope = no AND state = 8), 0);
UPDATE contexts SET
    in_state_0 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 0), 0),
    in_state_1 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 1), 0),
    in_state_2 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 2), 0),
    in_state_3 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 3), 0),
    in_state_4 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 4), 0),
    in_state_5 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 5), 0),
    in_state_6 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 6), 0),
    in_state_7 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 7), 0),
    in_state_8 = ifnull((SELECT tasks FROM context_counts WHERE context = no AND state = 8), 0);

-- With a trigger, an insert or update copies each page before it changes it.
DROP TRIGGER task_added;
DROP TRIGGER task_moved;
DROP TRIGGER task_weighed;
DROP TRIGGER task_unweighed;
DROP TRIGGER task_removed;
DROP TABLE scope_counts;
DROP TABLE context_counts;

CREATE TRIGGER task_removed AFTER DELETE ON tasks BEGIN
    UPDATE scopes SET bytes = bytes - old.bytes,
        in_state_0 = in_state_0 - (old.state = 0), in_state_1 = in_state_1 - (old.state = 1),
        in_state_2 = in_state_2 - (old.state = 2), in_state_3 = in_state_3 - (old.state = 3),
        in_state_4 = in_state_4 - (old.state = 4), in_state_5 = in_state_5 - (old.state = 5),
        in_state_6 = in_state_6 - (old.state = 6), in_state_7 = in_state_7 - (old.state = 7),
        in_state_8 = in_state_8 - (old.state = 8)
        WHERE no = old.scope;
    UPDATE contexts SET
        in_state_0 = in_state_0 - (old.state = 0), in_state_1 = in_state_1 - (old.state = 1),
        in_state_2 = in_state_2 - (old.state = 2), in_state_3 = in_state_3 - (old.state = 3),
        in_state_4 = in_state_4 - (old.state = 4), in_state_5 = in_state_5 - (old.state = 5),
        in_state_6 = in_state_6 - (old.state = 6), in_state_7 = in_state_7 - (old.state = 7),
        in_state_8 = in_state_8 - (old.state = 8)
        WHERE no = old.context;
    DELETE FROM snapshots WHERE task = old.no;
    DELETE FROM events WHERE task = old.no;
    DELETE FROM holds WHERE task = old.no;
    DELETE FROM commands WHERE task = old.no AND answer IS NULL;
    DELETE FROM webhooks WHERE task = old.no;
    DELETE FROM contexts
        WHERE no = old.context AND NOT EXISTS (SELECT 1 FROM tasks WHERE context = old.context);
    DELETE FROM scopes
        WHERE no = old.scope
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE scope = old.scope)
        AND NOT EXISTS (SELECT 1 FROM claims WHERE scope = old.scope);
END;
