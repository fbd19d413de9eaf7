"""The verb that writes what a settled hold paid for, for synchronous services and the realtime path alike."""

from django.db import migrations

# One record per settled hold; the amount and the time are the charge's. outcome: recorded | already | unsettled
RECORD_USAGE = """
CREATE FUNCTION billing_record_usage_v1(
    p_source text, p_surface text, p_model text, p_key text,
    p_requests bigint, p_input bigint, p_cached bigint, p_output bigint,
    OUT outcome text
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO billing_usagerecord (
            source, organization_id, at, surface, model_id, key_id,
            requests, input_tokens, cached_tokens, output_tokens, amount_nano
        )
        SELECT h.source, a.organization_id, coalesce(t.at, h.settled_at), p_surface, p_model, p_key,
            p_requests, p_input, p_cached, p_output, h.captured_nano
        FROM billing_hold h
        JOIN billing_account a ON a.id = h.account_id
        LEFT JOIN billing_transfer t ON t.source = h.source || ':capture'
        WHERE h.source = p_source AND h.settled_at IS NOT NULL
        ON CONFLICT (source) DO NOTHING;
    IF FOUND THEN
        outcome := 'recorded';
    ELSIF EXISTS (SELECT 1 FROM billing_usagerecord WHERE source = p_source) THEN
        outcome := 'already';
    ELSE
        outcome := 'unsettled';
    END IF;
END $$;
"""

REVERSE = "DROP FUNCTION billing_record_usage_v1(text, text, text, text, bigint, bigint, bigint, bigint);"


class Migration(migrations.Migration):
    dependencies = [("billing", "0006_usage_records")]

    operations = [migrations.RunSQL(RECORD_USAGE, REVERSE)]
