-- A scope is a tenant and an owner. Rows refer to it, and to each other, by number: numbers are
-- short, and they grow, so that what is written together stands together.
CREATE TABLE scopes (
    no INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (tenant, owner)
);

CREATE TABLE contexts (
    no INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    id TEXT NOT NULL,
    UNIQUE (scope, id)
);

-- What changes with every write, and nothing long: SQLite writes a row as a whole.
CREATE TABLE tasks (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    context INTEGER NOT NULL,
    state INTEGER NOT NULL,
    -- The time of the status, in milliseconds since 1970.
    millis INTEGER NOT NULL,
    -- When the task ended by the clock of the store, likewise.
    ended INTEGER,
    version INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    last_event INTEGER NOT NULL
);

-- The orders in which tasks are listed.
CREATE INDEX tasks_of_scope ON tasks (scope, millis, id);
CREATE INDEX tasks_of_scope_in_state ON tasks (scope, state, millis, id);
CREATE INDEX tasks_of_context ON tasks (context, millis, id);
CREATE INDEX tasks_of_context_in_state ON tasks (context, state, millis, id);
CREATE INDEX tasks_ended ON tasks (ended) WHERE ended IS NOT NULL;

CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    -- The newest event that went into it; later ones are artifact chunks.
    position INTEGER NOT NULL,
    body BLOB NOT NULL
);

CREATE TABLE events (
    task INTEGER NOT NULL,
    position INTEGER NOT NULL,
    pushed INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX events_of_task ON events (task, position);
CREATE INDEX events_pushed ON events (task, position) WHERE pushed;

-- Who works on which task.
CREATE TABLE holds (
    task INTEGER PRIMARY KEY,
    node TEXT NOT NULL,
    -- Since when it is to be taken over, in milliseconds since 1970, if it is.
    lost INTEGER,
    recorded INTEGER NOT NULL,
    execution BLOB NOT NULL
);
CREATE INDEX holds_lost ON holds (lost) WHERE lost IS NOT NULL;

CREATE TABLE commands (
    no INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    task INTEGER NOT NULL,
    poster TEXT NOT NULL,
    body BLOB NOT NULL,
    answer BLOB
);
CREATE INDEX commands_of_task ON commands (task, no) WHERE answer IS NULL;

CREATE TABLE webhooks (
    no INTEGER PRIMARY KEY,
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,
    -- The event up to which all was delivered or given up, and the newest one to deliver.
    place INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    -- When to look at it, while an event waits: the next try, or the end of the claim.
    due INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    claim INTEGER,
    UNIQUE (task, id)
);
CREATE INDEX webhooks_due ON webhooks (due) WHERE due IS NOT NULL;

-- These outlive their tasks.
CREATE TABLE dead_letters (
    no INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    task_id TEXT NOT NULL,
    config_id TEXT NOT NULL,
    url TEXT NOT NULL,
    event INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT NOT NULL,
    millis INTEGER NOT NULL
);

CREATE TABLE claims (
    no INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    key TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    millis INTEGER NOT NULL,
    UNIQUE (scope, key)
);
CREATE INDEX claims_by_age ON claims (millis);

-- How many tasks there are, so that totals need no counting.
CREATE TABLE scope_counts (
    scope INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (scope, state)
) WITHOUT ROWID;

CREATE TABLE context_counts (
    context INTEGER NOT NULL,
    state INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    PRIMARY KEY (context, state)
) WITHOUT ROWID;

CREATE TRIGGER task_added AFTER INSERT ON tasks BEGIN
    INSERT INTO scope_counts VALUES (new.scope, new.state, 1)
        ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO context_counts VALUES (new.context, new.state, 1)
        ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

CREATE TRIGGER task_moved AFTER UPDATE OF state ON tasks WHEN old.state <> new.state BEGIN
    UPDATE scope_counts SET tasks = tasks - 1 WHERE scope = old.scope AND state = old.state;
    UPDATE context_counts SET tasks = tasks - 1 WHERE context = old.context AND state = old.state;
    INSERT INTO scope_counts VALUES (new.scope, new.state, 1)
        ON CONFLICT DO UPDATE SET tasks = tasks + 1;
    INSERT INTO context_counts VALUES (new.context, new.state, 1)
        ON CONFLICT DO UPDATE SET tasks = tasks + 1;
END;

CREATE TRIGGER task_removed AFTER DELETE ON tasks BEGIN
    UPDATE scope_counts SET tasks = tasks - 1 WHERE scope = old.scope AND state = old.state;
    UPDATE context_counts SET tasks = tasks - 1 WHERE context = old.context AND state = old.state;
    DELETE FROM snapshots WHERE task = old.no;
    DELETE FROM events WHERE task = old.no;
    DELETE FROM holds WHERE task = old.no;
    DELETE FROM commands WHERE task = old.no AND answer IS NULL;
    DELETE FROM webhooks WHERE task = old.no;
    DELETE FROM context_counts
        WHERE context = old.context AND NOT EXISTS (SELECT 1 FROM tasks WHERE context = old.context);
    DELETE FROM contexts
        WHERE no = old.context AND NOT EXISTS (SELECT 1 FROM tasks WHERE context = old.context);
    DELETE FROM scope_counts
        WHERE scope = old.scope AND NOT EXISTS (SELECT 1 FROM tasks WHERE scope = old.scope);
    DELETE FROM scopes
        WHERE no = old.scope
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE scope = old.scope)
        AND NOT EXISTS (SELECT 1 FROM claims WHERE scope = old.scope);
END;

CREATE TRIGGER claim_removed AFTER DELETE ON claims BEGIN
    DELETE FROM scopes
        WHERE no = old.scope
        AND NOT EXISTS (SELECT 1 FROM tasks WHERE scope = old.scope)
        AND NOT EXISTS (SELECT 1 FROM claims WHERE scope = old.scope);
END;
