-- Writes transitions, each to a task of its own. One that names another version or epoch than
-- the stored ones is not among the rows that are returned; nor is one whose task got a webhook
-- since the statement began (`hooks`), which would miss its events: it is to be made again.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int8[],
        $8::bytea[], $9::int8[], $10::int2[], $11::int8[], $12::bool[], $13::bytea[],
        $14::int2[], $15::bytea[], $16::int4[], $23::bytea[], $24::bool[]
    ) WITH ORDINALITY AS i(
        id, tenant, owner, version, epoch, first, last,
        body, pushed, state, millis, ended, snapshot,
        hold, execution, chunk, journal, appends, n)
), asked AS MATERIALIZED (
    SELECT a.n, a.id, a.answer FROM unnest($20::int8[], $21::text[], $22::bytea[])
        AS a(n, id, answer)
    JOIN commands c ON c.id = a.id AND c.answer IS NULL
    JOIN input i ON i.n = a.n AND i.id = c.task_id
), written AS (
    UPDATE tasks t SET
        version = t.version + 1,
        last_event = coalesce(i.last, t.last_event),
        state = coalesce(i.state, t.state),
        millis = coalesce(i.millis, t.millis),
        event_bytes = t.event_bytes + coalesce(octet_length(i.body), 0),
        snapshot_bytes = coalesce(octet_length(i.snapshot), t.snapshot_bytes),
        parked = CASE
            WHEN i.state IS NULL THEN t.parked
            WHEN i.state IN (6, 8) THEN now() END,
        ended = CASE
            WHEN i.state IS NULL THEN t.ended
            WHEN i.ended THEN coalesce(t.ended, now()) END,
        node = CASE i.hold WHEN 2 THEN NULL ELSE t.node END,
        commands = t.commands - (SELECT count(*) FROM asked a WHERE a.n = i.n)
    FROM input i JOIN tasks o ON o.id = i.id
    WHERE t.key = o.key AND t.hooks = o.hooks
        AND t.version = i.version AND o.version = i.version AND t.epoch = i.epoch
        AND t.tenant = i.tenant AND t.owner = i.owner
    RETURNING i.n, t.key, t.id, t.tenant, t.owner, t.context_id, t.last_event,
        o.state AS was, t.state
), kept AS (
    UPDATE bodies b SET
        position = CASE WHEN i.snapshot IS NULL THEN b.position ELSE w.last_event END,
        snapshot = coalesce(i.snapshot, b.snapshot),
        execution = CASE i.hold WHEN 0 THEN b.execution ELSE i.execution END,
        recorded = CASE i.hold WHEN 0 THEN b.recorded WHEN 1 THEN i.epoch ELSE 0 END,
        journal = CASE WHEN i.journal IS NULL OR i.appends THEN b.journal
            ELSE nullif(i.journal, '') END
    FROM written w JOIN input i USING (n)
    WHERE b.task = w.key
        AND (i.snapshot IS NOT NULL OR (i.journal IS NOT NULL AND NOT i.appends)
            OR i.hold = 1 OR (i.hold = 2 AND b.execution IS NOT NULL))
), noted AS (
    INSERT INTO journal_parts (task, version, body)
    SELECT w.key, i.version, i.journal FROM written w JOIN input i USING (n) WHERE i.appends
), closed AS (
    DELETE FROM journal_parts p USING written w JOIN input i USING (n)
    WHERE p.task = w.key AND i.journal IS NOT NULL AND NOT i.appends
), logged AS (
    INSERT INTO events (task, last, first, pushed, body)
    SELECT w.key, i.last, i.first, i.pushed IS NOT NULL, i.body
    FROM written w JOIN input i USING (n) WHERE i.body IS NOT NULL
), hooked AS (
    UPDATE webhooks h SET pending = i.pushed, due = coalesce(h.due, now())
    FROM written w JOIN input i USING (n)
    WHERE h.task_id = w.id AND i.pushed IS NOT NULL
    RETURNING w.n
), let_go AS (
    DELETE FROM leases l USING written w JOIN input i USING (n)
    WHERE l.task_id = w.id AND i.hold = 2
), answered AS (
    UPDATE commands c SET answer = a.answer FROM asked a JOIN written w USING (n)
    WHERE c.id = a.id
    RETURNING w.n, c.id, c.poster
), counted AS (
    INSERT INTO totals (tenant, owner, whole, context_id, slot, s0, s1, s2, s3, s4, s5, s6, s7, s8)
    SELECT tenant, owner, whole,
        CASE WHEN whole THEN '' ELSE context_id END AS context,
        CASE WHEN whole THEN $18::int8 ELSE 0 END AS slot,
        coalesce(sum(more) FILTER (WHERE d.state = 0), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 1), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 2), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 3), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 4), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 5), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 6), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 7), 0),
        coalesce(sum(more) FILTER (WHERE d.state = 8), 0)
    FROM written w, (VALUES (true), (false)) AS k(whole),
        LATERAL (VALUES (w.was, -1), (w.state, 1)) AS d(state, more)
    WHERE w.was <> w.state
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (tenant, owner, whole, context_id, slot) DO UPDATE
    SET s0 = totals.s0 + excluded.s0, s1 = totals.s1 + excluded.s1,
        s2 = totals.s2 + excluded.s2, s3 = totals.s3 + excluded.s3,
        s4 = totals.s4 + excluded.s4, s5 = totals.s5 + excluded.s5,
        s6 = totals.s6 + excluded.s6, s7 = totals.s7 + excluded.s7,
        s8 = totals.s8 + excluded.s8
), lines AS (
    SELECT n, E'\nw ' || last_event || ' ' || id AS line FROM written
    UNION ALL
    SELECT n, E'\na ' || poster || ' ' || id FROM answered
), notified AS MATERIALIZED (
    SELECT pg_notify($19::text, $17::text || string_agg(l.line, ''))::text AS notified
    FROM lines l JOIN input i USING (n) WHERE $19 IS NOT NULL GROUP BY i.chunk
)
SELECT w.n, EXISTS (SELECT FROM hooked h WHERE h.n = w.n) AS has_pushes,
    (w.was IN (3, 4, 5, 7))::int4 - (w.state IN (3, 4, 5, 7))::int4 AS opened,
    (SELECT count(notified) FROM notified) AS notified
FROM written w
