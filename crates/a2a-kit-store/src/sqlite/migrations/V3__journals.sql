-- What the run of a task awaited, so that it can be repeated.
CREATE TABLE journals (
    task INTEGER PRIMARY KEY,
    body BLOB NOT NULL
);

CREATE TRIGGER journal_removed AFTER DELETE ON tasks BEGIN
    DELETE FROM journals WHERE task = old.no;
END;
