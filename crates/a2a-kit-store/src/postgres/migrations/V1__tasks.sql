-- The row of a task changes with every write to it, so it is narrow, and most of its changes
-- touch no index: pages keep room for the next version of a row beside the old one.
CREATE TABLE tasks (
    key        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    tenant     text COLLATE "C" NOT NULL,
    owner      text COLLATE "C" NOT NULL,
    context_id text COLLATE "C" NOT NULL,
    -- The number of the TaskState.
    state      smallint NOT NULL,
    -- The time of the status, in milliseconds since 1970.
    millis     bigint NOT NULL,
    version    bigint NOT NULL,
    epoch      bigint NOT NULL,
    last_event bigint NOT NULL,
    -- The node that works on the task.
    node       text COLLATE "C",
    -- How many commands wait.
    commands   integer NOT NULL DEFAULT 0,
    -- How often a webhook was put: a write that has not seen the last one is made again.
    hooks      integer NOT NULL DEFAULT 0,
    -- When the task came to its end.
    ended      timestamptz
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX tasks_by_time ON tasks (tenant, owner, millis, id);
CREATE INDEX tasks_by_context ON tasks (tenant, owner, context_id, millis, id);
CREATE INDEX tasks_by_state ON tasks (tenant, owner, state, millis, id);
CREATE INDEX tasks_by_context_and_state ON tasks (tenant, owner, context_id, state, millis, id);
CREATE INDEX tasks_by_end ON tasks (ended) WHERE ended IS NOT NULL;

-- What is big and changes seldom.
CREATE TABLE bodies (
    task      bigint PRIMARY KEY,
    -- The last event that is in the snapshot; artifacts behind it are added when it is read.
    position  bigint NOT NULL,
    snapshot  bytea NOT NULL,
    -- What is worked on, and the epoch under which that was recorded.
    execution bytea,
    recorded  bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 90);

-- The log. A row has the events of one write, from position `first` to `last`.
CREATE TABLE events (
    task   bigint NOT NULL,
    last   bigint NOT NULL,
    first  bigint NOT NULL,
    -- Whether any of them goes to webhooks.
    pushed boolean NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (task, last)
);

-- One row for each task that a node works on. Renewing is to touch no index, and only this.
CREATE TABLE leases (
    task_id text COLLATE "C" PRIMARY KEY,
    node    text COLLATE "C" NOT NULL,
    epoch   bigint NOT NULL,
    until   timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE commands (
    id      text COLLATE "C" PRIMARY KEY,
    number  bigint GENERATED ALWAYS AS IDENTITY,
    task_id text COLLATE "C" NOT NULL,
    -- The node that asks.
    poster  text COLLATE "C" NOT NULL,
    body    bytea NOT NULL,
    answer  bytea,
    posted  timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX commands_that_wait ON commands (task_id, number) WHERE answer IS NULL;
CREATE INDEX commands_by_age ON commands (posted);

-- How many tasks there are in each state, in a context and (`whole`) in all of a scope. The
-- number is the sum over all slots: a scope has a slot for each writer, so that writers
-- don't wait for each other.
CREATE TABLE totals (
    tenant     text COLLATE "C" NOT NULL,
    owner      text COLLATE "C" NOT NULL,
    whole      boolean NOT NULL,
    context_id text COLLATE "C" NOT NULL,
    slot       bigint NOT NULL,
    s0 bigint NOT NULL, s1 bigint NOT NULL, s2 bigint NOT NULL,
    s3 bigint NOT NULL, s4 bigint NOT NULL, s5 bigint NOT NULL,
    s6 bigint NOT NULL, s7 bigint NOT NULL, s8 bigint NOT NULL,
    PRIMARY KEY (tenant, owner, whole, context_id, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX totals_of_writers ON totals (slot) WHERE slot <> 0;

CREATE SEQUENCE slots;

CREATE TABLE claims (
    tenant      text COLLATE "C" NOT NULL,
    owner       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bigint NOT NULL,
    task_id     text COLLATE "C" NOT NULL,
    claimed     timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, owner, key)
);

CREATE INDEX claims_by_age ON claims (claimed);

CREATE TABLE webhooks (
    task_id   text COLLATE "C" NOT NULL,
    config_id text COLLATE "C" NOT NULL,
    tenant    text COLLATE "C" NOT NULL,
    owner     text COLLATE "C" NOT NULL,
    -- The id as it was given; `config_id` may be a digest of it.
    name      bytea NOT NULL,
    -- For operators; what authenticates is in the body, sealed.
    url       text NOT NULL,
    body      bytea NOT NULL,
    -- Everything up to here is delivered or given up.
    place     bigint NOT NULL,
    -- The newest event that goes to webhooks.
    pending   bigint NOT NULL DEFAULT 0,
    -- When to deliver, or when the claim of a node that does runs out; null if nothing waits.
    due       timestamptz,
    attempts  integer NOT NULL DEFAULT 0,
    claim     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, config_id)
) WITH (fillfactor = 70);

CREATE INDEX webhooks_that_wait ON webhooks (due) WHERE due IS NOT NULL;

CREATE TABLE dead_letters (
    number    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant    text COLLATE "C" NOT NULL,
    owner     text COLLATE "C" NOT NULL,
    task_id   text COLLATE "C" NOT NULL,
    config_id text NOT NULL,
    url       text NOT NULL,
    event     bigint NOT NULL,
    attempts  integer NOT NULL,
    error     text NOT NULL,
    died      timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX dead_letters_of_task ON dead_letters (task_id);
