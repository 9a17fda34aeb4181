-- A journal grows while its run works: each write adds a part, named by the version of the task.
CREATE TABLE journal_parts (
    task INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (task, version)
);

INSERT INTO journal_parts SELECT task, 0, body FROM journals;

DROP TRIGGER journal_removed;
DROP TABLE journals;

CREATE TRIGGER journal_removed AFTER DELETE ON tasks BEGIN
    DELETE FROM journal_parts WHERE task = old.no;
END;
