"""A model's limit of requests at once, over all processes and organizations, in the statement that admits."""

from importlib import import_module

from django.db import migrations, models

# The former verb, and two things more: an item may carry `model_limit`, how many requests of its model may be open at once, and
# is refused with `model_busy` where as many are. Of such models alone a lock is taken, by name, and holds are counted.
ADMIT = """
CREATE OR REPLACE FUNCTION billing_realtime_admit_v1(
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

    -- Last of all locks, so nobody waits for a model behind somebody who waits for an account.
    IF position('"model_limit"' IN p_items::text) > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('realtime model ' || m.model, 0)) FROM (
            SELECT DISTINCT i.model FROM json_to_recordset(p_items) AS i (model text, model_limit integer)
                WHERE i.model_limit IS NOT NULL ORDER BY i.model
        ) m;
    END IF;

    FOR v_item IN SELECT * FROM json_to_recordset(p_items)
        AS i (
            source text, scope text, surface text, plan_surface text, model text, amount bigint, model_limit integer
        )
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
            ELSIF v_item.model_limit <= (
                SELECT count(*) FROM billing_hold h
                    WHERE h.model_id = v_item.model AND h.settled_at IS NULL AND h.is_limited
            ) THEN
                v_verdict := json_build_object('why', 'model_busy', 'limit', v_item.model_limit);
            END IF;
        END IF;
        IF v_verdict IS NULL THEN
            INSERT INTO billing_hold (
                    source, account_id, amount_nano, actor, placed_at, key_id, key_charged_at,
                    holder_id, expires_at, surface, model_id, is_limited
                )
                VALUES (
                    v_item.source, v_account.id, v_item.amount, 'key:' || p_key, clock_timestamp(), p_key,
                    greatest(p_at, v_day::timestamp AT TIME ZONE 'UTC'),
                    p_holder, clock_timestamp() + make_interval(secs => p_seconds), v_item.surface, v_item.model,
                    v_item.model_limit IS NOT NULL
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

ADMIT_REVERSE = import_module("billing.migrations.0013_realtime_verbs").ADMIT.replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)


class Migration(migrations.Migration):
    dependencies = [("billing", "0015_fewer_indexes")]

    operations = [
        migrations.AddField(
            model_name="hold",
            name="is_limited",
            field=models.BooleanField(
                db_default=False, default=False, help_text="Counts against its model's requests at once"
            ),
        ),
        migrations.AddIndex(
            model_name="hold",
            index=models.Index(
                condition=models.Q(("is_limited", True), ("settled_at__isnull", True)),
                fields=["model_id"],
                name="holds_of_limited_models",
            ),
        ),
        migrations.RunSQL(ADMIT, ADMIT_REVERSE),
    ]
