"""Counting holds against the ceilings of keys: one verb, and the trigger that gives back what a settlement releases."""

from django.db import migrations

# Counts the hold p_source against the key p_key in the UTC day, week (from Monday) and month of p_at, if no ceiling
# of the key is passed. Locks account, then key counter. The columns after the outcome describe the ceiling in the way.
# outcome: charged | already | ceiling | unknown_hold | unknown_key
CHARGE_KEY = """
CREATE FUNCTION billing_charge_key_v1(
    p_source text, p_key text, p_at timestamptz,
    OUT outcome text, OUT period text, OUT ceiling_cents bigint, OUT spent_nano bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_account billing_account;
    v_hold billing_hold;
    v_key accounts_apikey;
    v_spend billing_keyspend;
    v_day date := (p_at AT TIME ZONE 'UTC')::date;
BEGIN
    SELECT h.account_id INTO v_account.id FROM billing_hold h WHERE h.source = p_source;
    IF NOT FOUND THEN
        outcome := 'unknown_hold';
        RETURN;
    END IF;
    SELECT * INTO v_account FROM billing_account a WHERE a.id = v_account.id FOR NO KEY UPDATE;
    -- Read now that no settlement can run.
    SELECT * INTO v_hold FROM billing_hold h WHERE h.source = p_source;
    IF v_hold.key_id IS NOT NULL OR v_hold.settled_at IS NOT NULL THEN
        outcome := 'already';
        RETURN;
    END IF;
    SELECT * INTO v_key FROM accounts_apikey k WHERE k.id = p_key AND k.organization_id = v_account.organization_id;
    IF NOT FOUND THEN
        outcome := 'unknown_key';
        RETURN;
    END IF;
    INSERT INTO billing_keyspend (key_id, day) VALUES (p_key, v_day) ON CONFLICT (key_id) DO NOTHING;
    SELECT * INTO v_spend FROM billing_keyspend s WHERE s.key_id = p_key FOR NO KEY UPDATE;
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
    SELECT c.period, c.cents, c.spent INTO period, ceiling_cents, spent_nano
        FROM (VALUES
            (1, 'monthly', v_key.monthly_ceiling_cents, v_spend.month_nano),
            (2, 'weekly', v_key.weekly_ceiling_cents, v_spend.week_nano),
            (3, 'daily', v_key.daily_ceiling_cents, v_spend.day_nano)
        ) AS c (place, period, cents, spent)
        WHERE c.spent::numeric + v_hold.amount_nano > c.cents::numeric * 10000000
        ORDER BY c.place LIMIT 1;
    IF FOUND THEN
        outcome := 'ceiling';
        RETURN;
    END IF;
    UPDATE billing_keyspend s
        SET day = v_day,
            day_nano = v_spend.day_nano + v_hold.amount_nano,
            week_nano = v_spend.week_nano + v_hold.amount_nano,
            month_nano = v_spend.month_nano + v_hold.amount_nano
        WHERE s.key_id = p_key;
    UPDATE billing_hold h
        SET key_id = p_key, key_charged_at = greatest(p_at, v_day::timestamp AT TIME ZONE 'UTC')
        WHERE h.id = v_hold.id;
    outcome := 'charged';
END $$;
"""

CHARGE_KEY_REVERSE = "DROP FUNCTION billing_charge_key_v1(text, text, timestamptz);"

# Whatever settles a hold, under its account's lock, gives the released part back to the key's present periods.
RELEASE_KEY = """
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

RELEASE_KEY_REVERSE = """
DROP TRIGGER billing_hold_release_key ON billing_hold;
DROP FUNCTION billing_release_key();
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0008_key_ceilings"), ("accounts", "0006_key_limits")]

    operations = [
        migrations.RunSQL(CHARGE_KEY, CHARGE_KEY_REVERSE),
        migrations.RunSQL(RELEASE_KEY, RELEASE_KEY_REVERSE),
    ]
