-- What the run of a task awaited, so that it can be repeated.
ALTER TABLE bodies ADD COLUMN journal bytea;
