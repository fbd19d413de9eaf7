"""The money verbs, one SQL function each, and the triggers that keep the ledger append-only.

A changed verb is a new function with the next version as its suffix, in a new migration, so that processes
of the version before keep working while both run.
"""

from django.db import migrations

APPEND_ONLY = """
CREATE FUNCTION billing_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a ledger line is never changed or removed; correct it with another one'
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER billing_transfer_refuse_change BEFORE UPDATE OR DELETE ON billing_transfer
    FOR EACH STATEMENT EXECUTE FUNCTION billing_refuse_change();
CREATE TRIGGER billing_transfer_refuse_truncate BEFORE TRUNCATE ON billing_transfer
    FOR EACH STATEMENT EXECUTE FUNCTION billing_refuse_change();
"""

APPEND_ONLY_REVERSE = """
DROP TRIGGER billing_transfer_refuse_truncate ON billing_transfer;
DROP TRIGGER billing_transfer_refuse_change ON billing_transfer;
DROP FUNCTION billing_refuse_change();
"""

# An organization's account is created by whichever verb needs it first; its row lock orders all of the
# organization's verbs. No row comes back for an organization that does not exist.
ACCOUNTS = """
CREATE FUNCTION billing_lock_account_v1(p_organization uuid) RETURNS billing_account LANGUAGE plpgsql AS $$
DECLARE
    v_account billing_account;
BEGIN
    SELECT * INTO v_account FROM billing_account WHERE organization_id = p_organization FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        INSERT INTO billing_account (organization_id)
            SELECT id FROM accounts_organization WHERE id = p_organization
            ON CONFLICT (organization_id) DO NOTHING;
        SELECT * INTO v_account FROM billing_account WHERE organization_id = p_organization FOR NO KEY UPDATE;
    END IF;
    RETURN v_account;
END $$;

CREATE FUNCTION billing_platform_account_v1(p_code text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    v_id bigint;
BEGIN
    SELECT id INTO v_id FROM billing_account WHERE code = p_code;
    IF NOT FOUND THEN
        INSERT INTO billing_account (code) VALUES (p_code) ON CONFLICT (code) DO NOTHING;
        SELECT id INTO v_id FROM billing_account WHERE code = p_code;
    END IF;
    RETURN v_id;
END $$;
"""

ACCOUNTS_REVERSE = """
DROP FUNCTION billing_platform_account_v1(text);
DROP FUNCTION billing_lock_account_v1(uuid);
"""

# Moves p_amount_nano from the platform's account p_platform to the organization's, or back where it is negative.
# outcome: moved | already | conflict | out_of_range | unknown_organization
TRANSFER = """
CREATE FUNCTION billing_transfer_v1(
    p_source text, p_organization uuid, p_platform text, p_amount_nano bigint,
    p_kind text, p_actor text, p_reason text,
    OUT outcome text
) LANGUAGE plpgsql AS $$
DECLARE
    v_account billing_account := billing_lock_account_v1(p_organization);
    v_platform bigint;
    v_line billing_transfer;
BEGIN
    IF v_account.id IS NULL THEN
        outcome := 'unknown_organization';
        RETURN;
    END IF;
    SELECT * INTO v_line FROM billing_transfer WHERE source = p_source;
    IF FOUND THEN
        outcome := CASE WHEN v_account.id IN (v_line.debit_id, v_line.credit_id) THEN 'already' ELSE 'conflict' END;
        RETURN;
    END IF;
    IF p_amount_nano = 0 OR p_amount_nano NOT BETWEEN -1000000000000000000 AND 1000000000000000000
        OR v_account.balance_nano + p_amount_nano NOT BETWEEN -4000000000000000000 AND 4000000000000000000
    THEN
        outcome := 'out_of_range';
        RETURN;
    END IF;
    v_platform := billing_platform_account_v1(p_platform);
    INSERT INTO billing_transfer (source, debit_id, credit_id, amount_nano, kind, actor, reason, at)
        VALUES (
            p_source,
            CASE WHEN p_amount_nano > 0 THEN v_platform ELSE v_account.id END,
            CASE WHEN p_amount_nano > 0 THEN v_account.id ELSE v_platform END,
            abs(p_amount_nano), p_kind, p_actor, p_reason, clock_timestamp()
        );
    UPDATE billing_account SET balance_nano = balance_nano + p_amount_nano WHERE id = v_account.id;
    outcome := 'moved';
END $$;
"""

TRANSFER_REVERSE = "DROP FUNCTION billing_transfer_v1(text, uuid, text, bigint, text, text, text);"

# Sets p_amount_nano aside if that much is available. The amounts that come back are those before the call.
# outcome: placed | already | insufficient | conflict | out_of_range | unknown_organization
PLACE_HOLD = """
CREATE FUNCTION billing_place_hold_v1(
    p_organization uuid, p_source text, p_amount_nano bigint, p_actor text,
    OUT outcome text, OUT balance_nano bigint, OUT held_nano bigint, OUT credit_limit_nano bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_account billing_account := billing_lock_account_v1(p_organization);
    v_hold billing_hold;
BEGIN
    balance_nano := v_account.balance_nano;
    held_nano := v_account.held_nano;
    credit_limit_nano := v_account.credit_limit_nano;
    IF v_account.id IS NULL THEN
        outcome := 'unknown_organization';
        RETURN;
    END IF;
    SELECT * INTO v_hold FROM billing_hold WHERE source = p_source;
    IF FOUND THEN
        outcome := CASE WHEN v_hold.account_id = v_account.id THEN 'already' ELSE 'conflict' END;
        RETURN;
    END IF;
    IF p_amount_nano NOT BETWEEN 1 AND 1000000000000000000 THEN
        outcome := 'out_of_range';
        RETURN;
    END IF;
    UPDATE billing_account a SET held_nano = a.held_nano + p_amount_nano
        WHERE a.id = v_account.id AND a.balance_nano + a.credit_limit_nano - a.held_nano >= p_amount_nano;
    IF NOT FOUND THEN
        outcome := 'insufficient';
        RETURN;
    END IF;
    INSERT INTO billing_hold (source, account_id, amount_nano, actor, placed_at)
        VALUES (p_source, v_account.id, p_amount_nano, p_actor, clock_timestamp());
    outcome := 'placed';
END $$;
"""

PLACE_HOLD_REVERSE = "DROP FUNCTION billing_place_hold_v1(uuid, text, bigint, text);"

# Ends a hold: captures the charge, never more than is held, and releases the rest. A second call reports the first.
# outcome: settled | already | unknown_hold
SETTLE_HOLD = """
CREATE FUNCTION billing_settle_hold_v1(
    p_source text, p_charge_nano bigint, p_actor text,
    OUT outcome text, OUT captured_nano bigint, OUT released_nano bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_account bigint;
    v_hold billing_hold;
BEGIN
    SELECT h.account_id INTO v_account FROM billing_hold h WHERE h.source = p_source;
    IF NOT FOUND THEN
        outcome := 'unknown_hold';
        RETURN;
    END IF;
    PERFORM 1 FROM billing_account WHERE id = v_account FOR NO KEY UPDATE;
    -- Read again, now that no other settlement can run.
    SELECT * INTO v_hold FROM billing_hold h WHERE h.source = p_source;
    IF v_hold.settled_at IS NOT NULL THEN
        outcome := 'already';
        captured_nano := v_hold.captured_nano;
        released_nano := v_hold.released_nano;
        RETURN;
    END IF;
    captured_nano := least(greatest(p_charge_nano, 0), v_hold.amount_nano);
    released_nano := v_hold.amount_nano - captured_nano;
    IF captured_nano > 0 THEN
        INSERT INTO billing_transfer (source, debit_id, credit_id, amount_nano, kind, actor, reason, at)
            VALUES (
                p_source || ':capture', v_account, billing_platform_account_v1('revenue'),
                captured_nano, 'charge', p_actor, '', clock_timestamp()
            );
    END IF;
    UPDATE billing_account a
        SET balance_nano = a.balance_nano - billing_settle_hold_v1.captured_nano, held_nano = a.held_nano - v_hold.amount_nano
        WHERE a.id = v_account;
    UPDATE billing_hold h
        SET captured_nano = billing_settle_hold_v1.captured_nano,
            released_nano = billing_settle_hold_v1.released_nano,
            settled_at = clock_timestamp()
        WHERE h.id = v_hold.id;
    outcome := 'settled';
END $$;
"""

SETTLE_HOLD_REVERSE = "DROP FUNCTION billing_settle_hold_v1(text, bigint, text);"


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]

    operations = [
        migrations.RunSQL(APPEND_ONLY, APPEND_ONLY_REVERSE),
        migrations.RunSQL(ACCOUNTS, ACCOUNTS_REVERSE),
        migrations.RunSQL(TRANSFER, TRANSFER_REVERSE),
        migrations.RunSQL(PLACE_HOLD, PLACE_HOLD_REVERSE),
        migrations.RunSQL(SETTLE_HOLD, SETTLE_HOLD_REVERSE),
    ]
