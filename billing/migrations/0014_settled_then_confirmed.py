"""Settlements that no lock waits for a disk with: written first, then confirmed to be durable, many at once."""

from django.db import migrations

# The former verb, whose commit does not wait for the disk. A third outcome: `nothing` for a source of which nothing is
# open, charged or noted, so nothing is to be confirmed. No row comes back for what was settled before. A group is looked
# up by its keys, whatever the planner thinks of tables it has no statistics of: it read them whole.
SETTLE = """
CREATE FUNCTION billing_realtime_settle_v2(p_items json)
RETURNS TABLE (source text, outcome text, charged_nano bigint) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    v_told bigint;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    RETURN QUERY SELECT v1.source, v1.outcome, v1.charged_nano FROM billing_realtime_settle_v1(p_items) v1;
    GET DIAGNOSTICS v_told = ROW_COUNT;
    IF v_told < json_array_length(p_items) THEN
        RETURN QUERY SELECT i.source, 'nothing', 0::bigint FROM json_to_recordset(p_items) AS i (source text)
            WHERE NOT EXISTS (SELECT FROM billing_usagerecord u WHERE u.source = i.source AND u.status <> 'lost');
    END IF;
END $$;
"""

SETTLE_REVERSE = "DROP FUNCTION billing_realtime_settle_v2(json);"

# The sources that are settled, for good once this returns: its own commit is written behind theirs and waits for the disk.
# What a crash of the server lost in between does not come back.
CONFIRM = """
CREATE FUNCTION billing_realtime_confirm_v1(p_sources text[]) RETURNS TABLE (source text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'anex', '');
    RETURN QUERY SELECT u.source::text FROM billing_usagerecord u
        WHERE u.source = ANY (p_sources) AND u.status <> 'lost';
END $$;
"""

CONFIRM_REVERSE = "DROP FUNCTION billing_realtime_confirm_v1(text[]);"


class Migration(migrations.Migration):
    dependencies = [("billing", "0013_realtime_verbs")]

    operations = [
        migrations.RunSQL(SETTLE, SETTLE_REVERSE),
        migrations.RunSQL(CONFIRM, CONFIRM_REVERSE),
    ]
