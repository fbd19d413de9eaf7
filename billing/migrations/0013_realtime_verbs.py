"""The money verbs of realtime requests: one statement admits, one settles a group, one ends what nobody settled."""

from django.db import migrations

# Decides about realtime requests of one key, in their order, and places the holds of those it admits. p_digest is the
# SHA-256 of the secret, p_limit the requests in flight an organization may have unless its row says otherwise, p_seconds
# how long a hold lasts if nobody settles it. `refused` speaks of all of them (key | suspended | frozen); else `facts`
# is what the key may do, and there is a verdict per request: null, or why not
# (scope | surface | model | balance | ceiling | in_flight, which is the order they are looked at). `crowded` is whether more
# than half of the requests it may have in flight are. Locks account, key counter.
ADMIT = """
CREATE FUNCTION billing_realtime_admit_v1(
    p_key text, p_digest bytea, p_at timestamptz, p_holder bigint, p_limit integer, p_seconds integer, p_items json,
    OUT refused text, OUT facts text, OUT crowded boolean, OUT verdicts text[]
) LANGUAGE plpgsql AS $$
DECLARE
    -- Blinds what is compared, so that the time a comparison takes tells nothing about a secret.
    v_salt bytea := uuid_send(gen_random_uuid());
    v_digest bytea := sha256(p_digest || v_salt);
    v_day date := (p_at AT TIME ZONE 'UTC')::date;
    v_key accounts_apikey;
    v_organization accounts_organization;
    v_plan accounts_plan;
    v_account billing_account;
    v_spend billing_keyspend;
    v_item record;
    v_ceiling record;
    v_verdict json;
    v_held bigint := 0;
    v_count integer := 0;
    v_limit integer;
BEGIN
    -- A hold that a crash of the server loses is made up for by its settlement; nobody waits for a disk here.
    PERFORM set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true);
    SELECT * INTO v_key FROM accounts_apikey k WHERE k.id = p_key;
    IF NOT FOUND OR v_key.revoked_at IS NOT NULL OR coalesce(v_key.expires_at <= p_at, false) OR NOT (
        sha256(v_key.secret_sha256 || v_salt) = v_digest
        OR coalesce(
            sha256(v_key.previous_sha256 || v_salt) = v_digest AND coalesce(v_key.previous_expires_at > p_at, true), false
        )
    ) THEN
        refused := 'key';
        RETURN;
    END IF;
    SELECT * INTO v_organization FROM accounts_organization o WHERE o.id = v_key.organization_id;
    IF v_organization.suspended_at IS NOT NULL THEN
        refused := 'suspended';
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM accounts_freeze f WHERE f.surface = 'realtime' AND f.frozen_at IS NOT NULL) THEN
        refused := 'frozen';
        RETURN;
    END IF;
    SELECT * INTO v_plan FROM accounts_plan p
        WHERE p.id = v_organization.plan_id OR p.is_default ORDER BY p.is_default LIMIT 1;
    facts := json_build_object(
        'organization', v_organization.id, 'scopes', v_key.scopes, 'models', v_key.allowed_models,
        'plan', CASE WHEN v_plan.id IS NOT NULL THEN json_build_object(
            'slug', v_plan.slug, 'name', v_plan.name, 'surfaces', v_plan.surfaces,
            'burst', v_plan.burst, 'max_output_tokens', v_plan.max_output_tokens
        ) END
    )::text;

    v_limit := coalesce(v_organization.in_flight_limit, p_limit);
    v_account := billing_lock_account_v1(v_organization.id);
    SELECT * INTO v_spend FROM billing_keyspend s WHERE s.key_id = p_key FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        INSERT INTO billing_keyspend (key_id, day) VALUES (p_key, v_day) RETURNING * INTO v_spend;
    END IF;
    -- A clock that is behind another's counts in the later day.
    v_day := greatest(v_day, v_spend.day);
    IF v_day > v_spend.day THEN
        v_spend.day_nano := 0;
    END IF;
    IF date_trunc('week', v_day) > date_trunc('week', v_spend.day) THEN
        v_spend.week_nano := 0;
    END IF;
    IF date_trunc('month', v_day) > date_trunc('month', v_spend.day) THEN
        v_spend.month_nano := 0;
    END IF;

    FOR v_item IN SELECT * FROM json_to_recordset(p_items)
        AS i (source text, scope text, surface text, plan_surface text, model text, amount bigint)
    LOOP
        v_verdict := NULL;
        IF NOT v_item.scope = ANY (v_key.scopes) THEN
            v_verdict := '{"why": "scope"}';
        ELSIF v_plan.id IS NOT NULL AND NOT v_item.plan_surface = ANY (v_plan.surfaces) THEN
            v_verdict := '{"why": "surface"}';
        ELSIF NOT v_item.model = ANY (v_key.allowed_models) THEN
            v_verdict := '{"why": "model"}';
        ELSIF v_account.balance_nano + v_account.credit_limit_nano - v_account.held_nano - v_held < v_item.amount THEN
            v_verdict := json_build_object(
                'why', 'balance', 'balance', v_account.balance_nano, 'held', v_account.held_nano + v_held,
                'limit', v_account.credit_limit_nano
            );
        ELSE
            SELECT c.period, c.cents, c.spent INTO v_ceiling
                FROM (VALUES
                    (1, 'monthly', v_key.monthly_ceiling_cents, v_spend.month_nano),
                    (2, 'weekly', v_key.weekly_ceiling_cents, v_spend.week_nano),
                    (3, 'daily', v_key.daily_ceiling_cents, v_spend.day_nano)
                ) AS c (place, period, cents, spent)
                WHERE c.spent::numeric + v_held + v_item.amount > c.cents::numeric * 10000000
                ORDER BY c.place LIMIT 1;
            IF FOUND THEN
                v_verdict := json_build_object(
                    'why', 'ceiling', 'period', v_ceiling.period, 'cents', v_ceiling.cents, 'spent', v_ceiling.spent + v_held
                );
            ELSIF v_account.in_flight + v_count >= v_limit THEN
                v_verdict := json_build_object('why', 'in_flight', 'limit', v_limit);
            END IF;
        END IF;
        IF v_verdict IS NULL THEN
            INSERT INTO billing_hold (
                    source, account_id, amount_nano, actor, placed_at, key_id, key_charged_at,
                    holder_id, expires_at, surface, model_id
                )
                VALUES (
                    v_item.source, v_account.id, v_item.amount, 'key:' || p_key, clock_timestamp(), p_key,
                    greatest(p_at, v_day::timestamp AT TIME ZONE 'UTC'),
                    p_holder, clock_timestamp() + make_interval(secs => p_seconds), v_item.surface, v_item.model
                );
            v_held := v_held + v_item.amount;
            v_count := v_count + 1;
        END IF;
        verdicts := array_append(verdicts, v_verdict::text);
    END LOOP;

    crowded := (v_account.in_flight + v_count) * 2 > v_limit;
    IF v_count > 0 THEN
        UPDATE billing_account a SET held_nano = a.held_nano + v_held, in_flight = a.in_flight + v_count
            WHERE a.id = v_account.id;
        UPDATE billing_keyspend s
            SET day = v_day,
                day_nano = v_spend.day_nano + v_held,
                week_nano = v_spend.week_nano + v_held,
                month_nano = v_spend.month_nano + v_held
            WHERE s.key_id = p_key;
    END IF;
    -- Once a minute, and never waiting for somebody who changes the key.
    IF coalesce(v_key.last_used_at <= p_at - interval '1 minute', true) THEN
        UPDATE accounts_apikey SET last_used_at = p_at
            WHERE id IN (SELECT k.id FROM accounts_apikey k WHERE k.id = p_key FOR NO KEY UPDATE SKIP LOCKED);
    END IF;
END $$;
"""

ADMIT_REVERSE = "DROP FUNCTION billing_realtime_admit_v1(text, bytea, timestamptz, bigint, integer, integer, json);"

# Ends the holds of many requests: captures each charge, never more than is held, releases the rest and notes the usage.
# No row comes back for what was settled before. Locks all accounts, in the order of their ids. outcome: settled | late
SETTLE = """
CREATE FUNCTION billing_realtime_settle_v1(p_items json)
RETURNS TABLE (source text, outcome text, charged_nano bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_at timestamptz;
    v_revenue bigint := billing_platform_account_v1('revenue');
    v_settled bigint;
BEGIN
    PERFORM set_config('lock_timeout', '1s', true);
    PERFORM 1 FROM billing_account a
        WHERE a.id IN (
            SELECT h.account_id FROM json_to_recordset(p_items) AS i (source text)
                JOIN billing_hold h ON h.source = i.source
            UNION
            SELECT o.id FROM json_to_recordset(p_items) AS i (organization uuid)
                JOIN billing_account o ON o.organization_id = i.organization
        )
        ORDER BY a.id FOR NO KEY UPDATE;
    v_at := clock_timestamp();
    -- Read now that nobody else can settle them.
    RETURN QUERY WITH item AS MATERIALIZED (
        SELECT DISTINCT ON (i.source) i.* FROM json_to_recordset(p_items) AS i (
            source text, charge bigint, status text, input bigint, cached bigint, output bigint,
            images integer, clips integer, video_ms bigint, audio_ms bigint, duration_ms bigint
        )
        ORDER BY i.source
    ), request AS MATERIALIZED (
        SELECT i.*, h.id, h.account_id, h.amount_nano, h.key_id, h.surface, h.model_id, a.organization_id,
            a.balance_nano, least(greatest(i.charge, 0), h.amount_nano) AS captured
        FROM item i
        JOIN billing_hold h ON h.source = i.source AND h.settled_at IS NULL AND h.holder_id IS NOT NULL
        JOIN billing_account a ON a.id = h.account_id
    ), line AS (
        INSERT INTO billing_transfer (
                source, debit_id, credit_id, amount_nano, kind, actor, reason, at, balance_after_nano
            )
            SELECT r.source || ':capture', r.account_id, v_revenue, r.captured, 'charge', 'key:' || r.key_id, '', v_at,
                r.balance_nano - (sum(r.captured) OVER (PARTITION BY r.account_id ORDER BY r.source))::bigint
            FROM request r WHERE r.captured > 0 ORDER BY r.account_id, r.source
    ), ended AS (
        UPDATE billing_hold h
            SET captured_nano = r.captured, released_nano = h.amount_nano - r.captured, settled_at = v_at
            FROM request r WHERE h.id = r.id
    ), paid AS (
        UPDATE billing_account a
            SET balance_nano = a.balance_nano - s.captured, held_nano = a.held_nano - s.held,
                in_flight = a.in_flight - s.requests
            FROM (
                SELECT r.account_id, sum(r.captured)::bigint AS captured, sum(r.amount_nano)::bigint AS held,
                    count(*)::integer AS requests
                FROM request r GROUP BY r.account_id
            ) s
            WHERE a.id = s.account_id
    ), recorded AS (
        INSERT INTO billing_usagerecord (
                source, organization_id, at, surface, model_id, key_id, requests, input_tokens, cached_tokens,
                output_tokens, amount_nano, status, duration_ms, images, clips, video_ms, audio_ms
            )
            SELECT r.source, r.organization_id, v_at, r.surface, r.model_id, r.key_id, 1, r.input, r.cached,
                r.output, r.captured, r.status, r.duration_ms, r.images, r.clips, r.video_ms, r.audio_ms
            FROM request r
    )
    SELECT r.source, 'settled', r.captured FROM request r;
    GET DIAGNOSTICS v_settled = ROW_COUNT;
    IF v_settled < json_array_length(p_items) THEN
        RETURN QUERY SELECT l.source, l.outcome, l.charged_nano FROM billing_realtime_settle_late_v1(p_items, v_at) l;
    END IF;
END $$;
"""

SETTLE_REVERSE = "DROP FUNCTION billing_realtime_settle_v1(json);"

# What the verb above did not find open: a hold settled as lost, or one that a crash of the server lost. Charges what is
# available, at most what was held; the usage noted for the lost one becomes that of the request.
LATE = """
CREATE FUNCTION billing_realtime_settle_late_v1(p_items json, p_at timestamptz)
RETURNS TABLE (source text, outcome text, charged_nano bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_item record;
    v_account billing_account;
    v_hold billing_hold;
    v_captured bigint;
BEGIN
    FOR v_item IN
        SELECT DISTINCT ON (i.source) i.* FROM json_to_recordset(p_items) AS i (
            source text, organization uuid, key text, surface text, model text, amount bigint, charge bigint, status text,
            input bigint, cached bigint, output bigint, images integer, clips integer, video_ms bigint, audio_ms bigint,
            duration_ms bigint
        )
        WHERE NOT EXISTS (SELECT FROM billing_usagerecord u WHERE u.source = i.source AND u.status <> 'lost')
        ORDER BY i.source
    LOOP
        SELECT * INTO v_account FROM billing_account a WHERE a.organization_id = v_item.organization;
        SELECT * INTO v_hold FROM billing_hold h
            WHERE h.source = v_item.source AND h.account_id = v_account.id AND h.settled_at IS NOT NULL;
        IF v_hold.id IS NULL THEN
            CONTINUE WHEN v_item.charge <= 0 OR v_account.id IS NULL;
            -- Its admission was lost in a crash of the server.
            INSERT INTO billing_hold (
                    source, account_id, amount_nano, captured_nano, released_nano, actor, placed_at, settled_at, lost_at,
                    key_id, key_charged_at, surface, model_id
                )
                VALUES (
                    v_item.source, v_account.id, v_item.amount, 0, v_item.amount, 'key:' || v_item.key, p_at, p_at, p_at,
                    v_item.key, p_at, v_item.surface, v_item.model
                )
                RETURNING * INTO v_hold;
            INSERT INTO billing_keyspend (key_id, day) VALUES (v_item.key, (p_at AT TIME ZONE 'UTC')::date)
                ON CONFLICT (key_id) DO NOTHING;
        END IF;
        v_captured := greatest(0, least(
            v_item.charge, v_hold.amount_nano,
            v_account.balance_nano + v_account.credit_limit_nano - v_account.held_nano
        ));
        IF v_captured > 0 THEN
            INSERT INTO billing_transfer (source, debit_id, credit_id, amount_nano, kind, actor, reason, at)
                VALUES (
                    v_item.source || ':capture', v_account.id, billing_platform_account_v1('revenue'),
                    v_captured, 'charge', v_hold.actor, '', p_at
                );
            UPDATE billing_account a SET balance_nano = a.balance_nano - v_captured WHERE a.id = v_account.id;
            UPDATE billing_hold h SET captured_nano = v_captured, released_nano = h.amount_nano - v_captured
                WHERE h.id = v_hold.id;
        END IF;
        INSERT INTO billing_usagerecord (
                source, organization_id, at, surface, model_id, key_id, requests, input_tokens, cached_tokens,
                output_tokens, amount_nano, status, duration_ms, images, clips, video_ms, audio_ms
            )
            VALUES (
                v_item.source, v_item.organization, p_at, v_hold.surface, v_hold.model_id, v_hold.key_id, 1, v_item.input,
                v_item.cached, v_item.output, v_captured, v_item.status, v_item.duration_ms, v_item.images, v_item.clips,
                v_item.video_ms, v_item.audio_ms
            )
            ON CONFLICT (source) DO UPDATE
                SET at = EXCLUDED.at, input_tokens = EXCLUDED.input_tokens, cached_tokens = EXCLUDED.cached_tokens,
                    output_tokens = EXCLUDED.output_tokens, amount_nano = EXCLUDED.amount_nano, status = EXCLUDED.status,
                    duration_ms = EXCLUDED.duration_ms, images = EXCLUDED.images, clips = EXCLUDED.clips,
                    video_ms = EXCLUDED.video_ms, audio_ms = EXCLUDED.audio_ms;
        source := v_item.source;
        outcome := 'late';
        charged_nano := v_captured;
        RETURN NEXT;
    END LOOP;
END $$;
"""

LATE_REVERSE = "DROP FUNCTION billing_realtime_settle_late_v1(json, timestamptz);"

# Keeps a process alive for p_seconds more; one that is unknown, or whose time was over, gets another id.
RENEW = """
CREATE FUNCTION billing_realtime_renew_v1(p_holder bigint, p_seconds double precision, OUT holder bigint)
LANGUAGE plpgsql AS $$
DECLARE
    v_until timestamptz := clock_timestamp() + make_interval(secs => p_seconds);
BEGIN
    UPDATE billing_holder h SET expires_at = v_until WHERE h.id = p_holder RETURNING h.id INTO holder;
    IF NOT FOUND THEN
        INSERT INTO billing_holder (expires_at) VALUES (v_until) RETURNING id INTO holder;
    END IF;
END $$;
"""

RENEW_REVERSE = "DROP FUNCTION billing_realtime_renew_v1(bigint, double precision);"

# Settles at nothing, as lost, the holds of processes whose time is over and those past their own end. What is lost comes
# back. p_seconds is how long a process counts as alive; that long after its start, the server buries nobody.
REAP = """
CREATE FUNCTION billing_realtime_reap_v1(p_seconds double precision, p_at timestamptz DEFAULT clock_timestamp())
RETURNS TABLE (source text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_dead bigint[] := '{}';
    v_lost bigint[];
BEGIN
    PERFORM set_config('lock_timeout', '1s', true);
    -- Nobody could renew while the server was away.
    IF p_at >= pg_postmaster_start_time() + make_interval(secs => p_seconds) THEN
        SELECT coalesce(array_agg(dead.id), '{}') INTO v_dead FROM (
            SELECT h.id FROM billing_holder h WHERE h.expires_at <= p_at ORDER BY h.id FOR UPDATE SKIP LOCKED
        ) dead;
    END IF;
    SELECT array_agg(h.id) INTO v_lost FROM billing_hold h
        WHERE h.settled_at IS NULL AND h.holder_id IS NOT NULL AND (
            h.expires_at <= p_at OR h.holder_id = ANY (v_dead)
            OR NOT EXISTS (SELECT FROM billing_holder alive WHERE alive.id = h.holder_id)
        );
    PERFORM 1 FROM billing_account a
        WHERE a.id IN (SELECT h.account_id FROM billing_hold h WHERE h.id = ANY (v_lost))
        ORDER BY a.id FOR NO KEY UPDATE;
    -- Read again, now that nobody else can settle them.
    RETURN QUERY WITH lost AS (
        UPDATE billing_hold h
            SET captured_nano = 0, released_nano = h.amount_nano, settled_at = clock_timestamp(), lost_at = clock_timestamp()
            WHERE h.id = ANY (v_lost) AND h.settled_at IS NULL
            RETURNING h.*
    ), freed AS (
        UPDATE billing_account a SET held_nano = a.held_nano - s.held, in_flight = a.in_flight - s.requests
            FROM (
                SELECT l.account_id, sum(l.amount_nano)::bigint AS held, count(*)::integer AS requests
                FROM lost l GROUP BY l.account_id
            ) s
            WHERE a.id = s.account_id
    ), recorded AS (
        INSERT INTO billing_usagerecord (
                source, organization_id, at, surface, model_id, key_id, requests, input_tokens, cached_tokens,
                output_tokens, amount_nano, status
            )
            SELECT l.source, a.organization_id, l.lost_at, l.surface, l.model_id, l.key_id, 1, 0, 0, 0, 0, 'lost'
            FROM lost l JOIN billing_account a ON a.id = l.account_id
    )
    SELECT l.source::text FROM lost l;
    DELETE FROM billing_holder h WHERE h.id = ANY (v_dead);
END $$;
"""

REAP_REVERSE = "DROP FUNCTION billing_realtime_reap_v1(double precision, timestamptz);"

# Replaces the trigger that gave one hold's released part back to its key: many holds at once are one update a key, and a
# late charge counts again.
RELEASE_KEY = """
DROP TRIGGER billing_hold_release_key ON billing_hold;
DROP FUNCTION billing_release_key();

CREATE FUNCTION billing_count_for_keys() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE billing_keyspend s
        SET day_nano = s.day_nano - given.back_day,
            week_nano = s.week_nano - given.back_week,
            month_nano = s.month_nano - given.back_month
        FROM (
            SELECT k.key_id,
                coalesce(sum(b.nano) FILTER (WHERE b.day = k.day), 0)::bigint AS back_day,
                coalesce(sum(b.nano) FILTER (WHERE date_trunc('week', b.day) = date_trunc('week', k.day)), 0)::bigint
                    AS back_week,
                coalesce(sum(b.nano) FILTER (WHERE date_trunc('month', b.day) = date_trunc('month', k.day)), 0)::bigint
                    AS back_month
            FROM (
                SELECT n.key_id, (n.key_charged_at AT TIME ZONE 'UTC')::date AS day,
                    n.released_nano - coalesce(w.released_nano, 0) AS nano
                FROM was w JOIN became n ON n.id = w.id
                WHERE n.key_id IS NOT NULL AND n.released_nano IS DISTINCT FROM w.released_nano
            ) b
            JOIN billing_keyspend k ON k.key_id = b.key_id
            GROUP BY k.key_id
        ) given
        WHERE s.key_id = given.key_id;
    RETURN NULL;
END $$;

CREATE TRIGGER billing_hold_count_for_keys AFTER UPDATE ON billing_hold
    REFERENCING OLD TABLE AS was NEW TABLE AS became
    FOR EACH STATEMENT EXECUTE FUNCTION billing_count_for_keys();
"""

# A verb that writes many lines of an account at once says itself what the balance is after each.
NOTE_BALANCE = """
DROP TRIGGER billing_transfer_note_balance ON billing_transfer;
CREATE TRIGGER billing_transfer_note_balance BEFORE INSERT ON billing_transfer
    FOR EACH ROW WHEN (NEW.balance_after_nano IS NULL) EXECUTE FUNCTION billing_note_balance();
"""

NOTE_BALANCE_REVERSE = """
DROP TRIGGER billing_transfer_note_balance ON billing_transfer;
CREATE TRIGGER billing_transfer_note_balance BEFORE INSERT ON billing_transfer
    FOR EACH ROW EXECUTE FUNCTION billing_note_balance();
"""

RELEASE_KEY_REVERSE = """
DROP TRIGGER billing_hold_count_for_keys ON billing_hold;
DROP FUNCTION billing_count_for_keys();

CREATE FUNCTION billing_release_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    v_day date := (NEW.key_charged_at AT TIME ZONE 'UTC')::date;
BEGIN
    UPDATE billing_keyspend s
        SET day_nano = s.day_nano - CASE WHEN s.day = v_day THEN NEW.released_nano ELSE 0 END,
            week_nano = s.week_nano
                - CASE WHEN date_trunc('week', s.day) = date_trunc('week', v_day) THEN NEW.released_nano ELSE 0 END,
            month_nano = s.month_nano
                - CASE WHEN date_trunc('month', s.day) = date_trunc('month', v_day) THEN NEW.released_nano ELSE 0 END
        WHERE s.key_id = NEW.key_id;
    RETURN NULL;
END $$;

CREATE TRIGGER billing_hold_release_key AFTER UPDATE OF settled_at ON billing_hold
    FOR EACH ROW WHEN (OLD.settled_at IS NULL AND NEW.settled_at IS NOT NULL AND NEW.key_id IS NOT NULL)
    EXECUTE FUNCTION billing_release_key();
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0012_realtime"), ("accounts", "0011_realtime_freeze")]

    operations = [
        migrations.RunSQL(NOTE_BALANCE, NOTE_BALANCE_REVERSE),
        migrations.RunSQL(RELEASE_KEY, RELEASE_KEY_REVERSE),
        migrations.RunSQL(ADMIT, ADMIT_REVERSE),
        migrations.RunSQL(LATE, LATE_REVERSE),
        migrations.RunSQL(SETTLE, SETTLE_REVERSE),
        migrations.RunSQL(RENEW, RENEW_REVERSE),
        migrations.RunSQL(REAP, REAP_REVERSE),
    ]
