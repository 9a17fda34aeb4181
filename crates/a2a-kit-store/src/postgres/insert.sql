-- Stores new tasks. One whose id is taken is not among the rows that are returned; one whose key
-- is tied to another task comes with that. The row of a key is locked until the task is stored, so
-- that it is not tied to another one meanwhile.
WITH input AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::text[], $2::text[], $3::text[], $4::text[], $5::int2[], $6::int8[], $7::bool[],
        $8::int8[], $9::bytea[], $10::bytea[], $11::bytea[], $12::int8[], $13::int4[], $23::text[],
        $24::bytea[]
    ) WITH ORDINALITY AS i(
        id, tenant, owner, context_id, state, millis, ended,
        last, snapshot, execution, body, pushed, chunk, claim, journal, n)
), tied AS MATERIALIZED (
    SELECT i.n, i.id, c.task_id FROM input i
    JOIN claims c ON c.tenant = i.tenant AND c.owner = i.owner AND c.key = i.claim
    WHERE i.claim IS NOT NULL ORDER BY i.id FOR SHARE OF c
), other AS MATERIALIZED (
    SELECT n, task_id FROM tied WHERE task_id <> id
), written AS (
    INSERT INTO tasks
        (id, tenant, owner, context_id, state, millis, version, epoch, last_event, node, ended,
         event_bytes, snapshot_bytes, parked)
    SELECT id, tenant, owner, context_id, state, millis, 1, 1, last,
        CASE WHEN execution IS NULL THEN NULL ELSE $14::text END,
        CASE WHEN ended THEN now() END,
        coalesce(octet_length(body), 0), octet_length(snapshot),
        CASE WHEN state IN (6, 8) THEN now() END
    FROM input WHERE NOT EXISTS (SELECT FROM other WHERE other.n = input.n) ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING key, id, tenant, owner, context_id, state, last_event
), kept AS (
    INSERT INTO bodies (task, position, snapshot, execution, recorded, journal)
    SELECT w.key, i.last, i.snapshot, i.execution, 1, nullif(i.journal, '') FROM written w JOIN input i USING (id)
), logged AS (
    INSERT INTO events (task, last, first, pushed, body)
    SELECT w.key, i.last, 1, i.pushed IS NOT NULL, i.body
    FROM written w JOIN input i USING (id) WHERE i.body IS NOT NULL
), leased AS (
    INSERT INTO leases (task_id, node, epoch, until)
    SELECT w.id, $14, 1, now() + $15::int8 * interval '1 ms'
    FROM written w JOIN input i USING (id) WHERE i.execution IS NOT NULL
    ON CONFLICT (task_id) DO UPDATE
    SET node = excluded.node, epoch = excluded.epoch, until = excluded.until
), hooked AS (
    INSERT INTO webhooks
        (task_id, config_id, tenant, owner, name, url, body, place, pending, due)
    SELECT w.id, h.config_id, w.tenant, w.owner, h.name, h.url, h.body, 0,
        coalesce(i.pushed, 0), CASE WHEN i.pushed IS NOT NULL THEN now() END
    FROM unnest($18::int8[], $19::text[], $20::bytea[], $21::text[], $22::bytea[])
        AS h(n, config_id, name, url, body)
    JOIN input i USING (n) JOIN written w USING (id)
    RETURNING task_id, due
), counted AS (
    INSERT INTO totals (tenant, owner, whole, context_id, slot, s0, s1, s2, s3, s4, s5, s6, s7, s8)
    SELECT tenant, owner, whole,
        CASE WHEN whole THEN '' ELSE context_id END AS context,
        CASE WHEN whole THEN $16::int8 ELSE 0 END AS slot,
        count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1),
        count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 3),
        count(*) FILTER (WHERE state = 4), count(*) FILTER (WHERE state = 5),
        count(*) FILTER (WHERE state = 6), count(*) FILTER (WHERE state = 7),
        count(*) FILTER (WHERE state = 8)
    FROM written, (VALUES (true), (false)) AS k(whole)
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (tenant, owner, whole, context_id, slot) DO UPDATE
    SET s0 = totals.s0 + excluded.s0, s1 = totals.s1 + excluded.s1,
        s2 = totals.s2 + excluded.s2, s3 = totals.s3 + excluded.s3,
        s4 = totals.s4 + excluded.s4, s5 = totals.s5 + excluded.s5,
        s6 = totals.s6 + excluded.s6, s7 = totals.s7 + excluded.s7,
        s8 = totals.s8 + excluded.s8
), notified AS MATERIALIZED (
    SELECT pg_notify($17::text, $14 || string_agg(
        E'\nw ' || w.last_event || ' ' || w.id, '' ORDER BY w.last_event))::text AS notified
    FROM written w JOIN input i USING (id) WHERE $17 IS NOT NULL GROUP BY i.chunk
)
SELECT i.n,
    EXISTS (SELECT FROM hooked h WHERE h.task_id = w.id AND h.due IS NOT NULL) AS has_pushes,
    (SELECT count(notified) FROM notified) AS notified, NULL AS tied
FROM written w JOIN input i USING (id)
UNION ALL
SELECT n, false, 0, task_id FROM other
