-- A journal grows while its run works: each write adds a part to the one of `bodies`, named by the
-- version of the task.
CREATE TABLE journal_parts (
    task    bigint NOT NULL,
    version bigint NOT NULL,
    body    bytea NOT NULL,
    PRIMARY KEY (task, version)
);
