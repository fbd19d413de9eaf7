"""Realtime requests under idempotency keys: tied to their hold by the statement that admits, charged once."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

# Why a request may not run under a key of an organization, whose account is locked; null where it may. A key counts for
# p_seconds after its request was settled. What was free of charge leaves it to the next attempt, p_tries in all, null for
# any number; a derived key is also left by a client that leaves the answer. why: key_open | key_settled | key_tries | key_reused
JUDGE = """
CREATE FUNCTION billing_realtime_judge_key_v1(
    p_organization uuid, p_digest bytea, p_asked bytea, p_at timestamptz, p_seconds integer, p_tries integer,
    p_derived boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    v_key billing_requestkey;
    v_hold billing_hold;
    v_status text;
    v_why text;
BEGIN
    SELECT * INTO v_key FROM billing_requestkey k WHERE k.organization_id = p_organization AND k.digest = p_digest;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO v_hold FROM billing_hold h WHERE h.source = v_key.source;
    IF NOT FOUND OR v_hold.settled_at + make_interval(secs => p_seconds) <= p_at THEN
        DELETE FROM billing_requestkey k WHERE k.id = v_key.id;
        RETURN NULL;
    END IF;
    IF v_hold.settled_at IS NOT NULL THEN
        SELECT u.status INTO v_status FROM billing_usagerecord u WHERE u.source = v_key.source;
        IF v_hold.captured_nano = 0 AND v_status IS DISTINCT FROM 'answered' THEN
            v_why := CASE WHEN v_key.tries >= p_tries THEN 'key_tries' END;
        ELSIF p_derived AND v_status = 'left' THEN
            RETURN NULL;
        ELSE
            v_why := CASE WHEN v_key.asked = p_asked THEN 'key_settled' ELSE 'key_reused' END;
        END IF;
    ELSE
        v_why := CASE WHEN v_key.asked = p_asked THEN 'key_open' ELSE 'key_reused' END;
    END IF;
    RETURN CASE WHEN v_why IS NOT NULL THEN json_build_object('why', v_why, 'source', v_key.source) END;
END $$;
"""

JUDGE_REVERSE = (
    "DROP FUNCTION billing_realtime_judge_key_v1(uuid, bytea, bytea, timestamptz, integer, integer, boolean);"
)

# The request that a key stands for from now on.
TAKE = """
CREATE FUNCTION billing_realtime_take_key_v1(
    p_organization uuid, p_digest bytea, p_asked bytea, p_source text, p_derived boolean, p_at timestamptz
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO billing_requestkey AS k (organization_id, digest, asked, source, is_derived, placed_at)
        VALUES (p_organization, p_digest, p_asked, p_source, p_derived, p_at)
        ON CONFLICT (organization_id, digest) DO UPDATE
            SET asked = EXCLUDED.asked, source = EXCLUDED.source, is_derived = EXCLUDED.is_derived,
                placed_at = EXCLUDED.placed_at, tries = k.tries + 1;
$$;
"""

TAKE_REVERSE = "DROP FUNCTION billing_realtime_take_key_v1(uuid, bytea, bytea, text, boolean, timestamptz);"

# The former verb; an item may carry `request_key` with what belongs to it. Whoever may ask at all is told of the key before
# anything is said of money, and the key is taken with the hold.
CHANGES = (
    (
        "text, amount bigint, model_limit integer\n        )",
        "text, amount bigint, model_limit integer,\n"
        "            request_key text, key_asked text, key_seconds integer, key_tries integer, key_derived boolean\n        )",
    ),
    (
        """            v_verdict := '{"why": "model"}';
""",
        """            v_verdict := '{"why": "model"}';
        ELSIF v_item.request_key IS NOT NULL THEN
            v_verdict := billing_realtime_judge_key_v1(
                v_organization.id, decode(v_item.request_key, 'hex'), decode(v_item.key_asked, 'hex'), p_at,
                v_item.key_seconds, v_item.key_tries, coalesce(v_item.key_derived, false)
            );
        END IF;
        IF v_verdict IS NOT NULL THEN
            NULL;
""",
    ),
    (
        """            v_held := v_held + v_item.amount;
            v_count""",
        """            IF v_item.request_key IS NOT NULL THEN
                PERFORM billing_realtime_take_key_v1(
                    v_organization.id, decode(v_item.request_key, 'hex'), decode(v_item.key_asked, 'hex'), v_item.source,
                    coalesce(v_item.key_derived, false), p_at
                );
            END IF;
            v_held := v_held + v_item.amount;
            v_count""",
    ),
)

# The former verb; what comes late charges nothing where its key stands for another request by now.
LATE_CHANGES = (
    ("duration_ms bigint\n        )", "duration_ms bigint,\n            request_key text, key_asked text, key_derived boolean\n        )"),
    (
        "        IF v_captured > 0 THEN\n",
        """        IF v_captured > 0 AND v_item.request_key IS NOT NULL THEN
            INSERT INTO billing_requestkey (organization_id, digest, asked, source, is_derived, placed_at)
                VALUES (
                    v_item.organization, decode(v_item.request_key, 'hex'), decode(v_item.key_asked, 'hex'), v_item.source,
                    coalesce(v_item.key_derived, false), p_at
                )
                ON CONFLICT (organization_id, digest) DO NOTHING;
            IF NOT EXISTS (
                SELECT FROM billing_requestkey k
                    WHERE k.organization_id = v_item.organization AND k.digest = decode(v_item.request_key, 'hex')
                        AND k.source = v_item.source
            ) THEN
                v_captured := 0;
            END IF;
        END IF;
        IF v_captured > 0 THEN
""",
    ),
)

OLD_ADMIT = import_module("billing.migrations.0016_limited_models").ADMIT
OLD_LATE = import_module("billing.migrations.0013_realtime_verbs").LATE.replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)


def changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    """The text with each change made at its one place."""
    for old, new in changes:
        if text.count(old) != 1:
            raise ValueError(f"not at one place: {old}")
        text = text.replace(old, new)
    return text


class Migration(migrations.Migration):
    dependencies = [("billing", "0017_ledger_of_requests"), ("accounts", "0011_realtime_freeze")]

    operations = [
        migrations.CreateModel(
            name="RequestKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.BinaryField(max_length=32)),
                ("asked", models.BinaryField(max_length=32)),
                ("source", models.CharField(max_length=100)),
                ("tries", models.IntegerField(db_default=1, default=1, help_text="How often it was admitted")),
                ("is_derived", models.BooleanField(help_text="Made of the request and not named by its client")),
                ("placed_at", models.DateTimeField(db_index=True)),
                (
                    "organization",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.organization",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("organization", "digest"), name="one_request_per_key")
                ],
            },
        ),
        migrations.RunSQL(JUDGE, JUDGE_REVERSE),
        migrations.RunSQL(TAKE, TAKE_REVERSE),
        migrations.RunSQL(changed(OLD_ADMIT, CHANGES), OLD_ADMIT),
        migrations.RunSQL(changed(OLD_LATE, LATE_CHANGES), OLD_LATE),
    ]
