"""Verbs of grants that expire, credit limits and refunds; the balance after each ledger line.

A verb inserts its line before it changes the cached balance: the trigger relies on it, and the ledger's tests check it.
"""

from django.db import migrations

BALANCE_AFTER = """
CREATE FUNCTION billing_note_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT a.balance_nano + CASE WHEN a.id = NEW.credit_id THEN NEW.amount_nano ELSE -NEW.amount_nano END
        INTO NEW.balance_after_nano
        FROM billing_account a
        WHERE a.id IN (NEW.debit_id, NEW.credit_id) AND a.organization_id IS NOT NULL;
    RETURN NEW;
END $$;

CREATE TRIGGER billing_transfer_note_balance BEFORE INSERT ON billing_transfer
    FOR EACH ROW EXECUTE FUNCTION billing_note_balance();

ALTER TABLE billing_transfer DISABLE TRIGGER billing_transfer_refuse_change;
WITH running AS (
    SELECT t.id, sum(CASE WHEN t.credit_id = a.id THEN t.amount_nano ELSE -t.amount_nano END)
        OVER (PARTITION BY a.id ORDER BY t.id) AS after
    FROM billing_transfer t
    JOIN billing_account a ON a.id IN (t.debit_id, t.credit_id) AND a.organization_id IS NOT NULL
)
UPDATE billing_transfer t SET balance_after_nano = running.after FROM running WHERE running.id = t.id;
ALTER TABLE billing_transfer ENABLE TRIGGER billing_transfer_refuse_change;
"""

BALANCE_AFTER_REVERSE = """
DROP TRIGGER billing_transfer_note_balance ON billing_transfer;
DROP FUNCTION billing_note_balance();
"""

# A grant whose unspent remainder is taken back after p_expires_at. outcome: as billing_transfer_v1
GIVE_GRANT = """
CREATE FUNCTION billing_give_grant_v1(
    p_source text, p_organization uuid, p_amount_nano bigint, p_actor text, p_reason text, p_expires_at timestamptz,
    OUT outcome text
) LANGUAGE plpgsql AS $$
BEGIN
    outcome := billing_transfer_v1(p_source, p_organization, 'grants', p_amount_nano, 'grant', p_actor, p_reason);
    IF outcome = 'moved' THEN
        INSERT INTO billing_grant (source, account_id, amount_nano, given_at, expires_at)
            SELECT t.source, t.credit_id, t.amount_nano, t.at, p_expires_at
            FROM billing_transfer t WHERE t.source = p_source;
    END IF;
END $$;
"""

GIVE_GRANT_REVERSE = "DROP FUNCTION billing_give_grant_v1(text, uuid, bigint, text, text, timestamptz);"

# Takes back what is unspent of a grant, never what is held or owed. outcome: expired | already | unknown_grant
EXPIRE_GRANT = """
CREATE FUNCTION billing_expire_grant_v1(
    p_source text, p_unspent_nano bigint, p_actor text,
    OUT outcome text, OUT taken_nano bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_account billing_account;
    v_grant billing_grant;
BEGIN
    SELECT a.* INTO v_account FROM billing_account a JOIN billing_grant g ON g.account_id = a.id
        WHERE g.source = p_source FOR NO KEY UPDATE OF a;
    IF NOT FOUND THEN
        outcome := 'unknown_grant';
        RETURN;
    END IF;
    -- Read again, now that no other expiry can run.
    SELECT * INTO v_grant FROM billing_grant WHERE source = p_source;
    IF v_grant.expired_at IS NOT NULL THEN
        outcome := 'already';
        taken_nano := v_grant.expired_nano;
        RETURN;
    END IF;
    taken_nano := greatest(0, least(p_unspent_nano, v_grant.amount_nano, v_account.balance_nano - v_account.held_nano));
    IF taken_nano > 0 THEN
        INSERT INTO billing_transfer (source, debit_id, credit_id, amount_nano, kind, actor, reason, at)
            VALUES (
                p_source || ':expiry', v_account.id, billing_platform_account_v1('grants'),
                taken_nano, 'expiry', p_actor, '', clock_timestamp()
            );
        UPDATE billing_account SET balance_nano = balance_nano - taken_nano WHERE id = v_account.id;
    END IF;
    UPDATE billing_grant SET expired_at = clock_timestamp(), expired_nano = taken_nano WHERE id = v_grant.id;
    outcome := 'expired';
END $$;
"""

EXPIRE_GRANT_REVERSE = "DROP FUNCTION billing_expire_grant_v1(text, bigint, text);"

# How far below zero an organization's balance may go by its own spending. outcome: set | out_of_range | unknown_organization
SET_CREDIT_LIMIT = """
CREATE FUNCTION billing_set_credit_limit_v1(p_organization uuid, p_limit_nano bigint, OUT outcome text)
LANGUAGE plpgsql AS $$
DECLARE
    v_account billing_account := billing_lock_account_v1(p_organization);
BEGIN
    IF v_account.id IS NULL THEN
        outcome := 'unknown_organization';
    ELSIF p_limit_nano NOT BETWEEN 0 AND 1000000000000000000 THEN
        outcome := 'out_of_range';
    ELSE
        UPDATE billing_account SET credit_limit_nano = p_limit_nano WHERE id = v_account.id;
        outcome := 'set';
    END IF;
END $$;
"""

SET_CREDIT_LIMIT_REVERSE = "DROP FUNCTION billing_set_credit_limit_v1(uuid, bigint);"

# Gives a charge back, or a part of it; all refunds of a charge together are at most the charge.
# outcome: moved | already | conflict | out_of_range | too_much | unknown_charge
REFUND_CHARGE = """
CREATE FUNCTION billing_refund_charge_v1(
    p_charge bigint, p_source text, p_amount_nano bigint, p_actor text, p_reason text,
    OUT outcome text, OUT refundable_nano bigint
) LANGUAGE plpgsql AS $$
DECLARE
    v_charge billing_transfer;
    v_account billing_account;
    v_line billing_transfer;
BEGIN
    SELECT * INTO v_charge FROM billing_transfer WHERE id = p_charge AND kind = 'charge';
    IF NOT FOUND THEN
        outcome := 'unknown_charge';
        RETURN;
    END IF;
    SELECT * INTO v_account FROM billing_account WHERE id = v_charge.debit_id FOR NO KEY UPDATE;
    SELECT * INTO v_line FROM billing_transfer WHERE source = p_source;
    IF FOUND THEN
        outcome := CASE WHEN v_line.about_id = p_charge THEN 'already' ELSE 'conflict' END;
        RETURN;
    END IF;
    SELECT v_charge.amount_nano - coalesce(sum(amount_nano), 0) INTO refundable_nano
        FROM billing_transfer WHERE about_id = p_charge;
    IF p_amount_nano < 1 OR v_account.balance_nano + p_amount_nano > 4000000000000000000 THEN
        outcome := 'out_of_range';
        RETURN;
    END IF;
    IF p_amount_nano > refundable_nano THEN
        outcome := 'too_much';
        RETURN;
    END IF;
    INSERT INTO billing_transfer (source, debit_id, credit_id, amount_nano, kind, actor, reason, at, about_id)
        VALUES (
            p_source, billing_platform_account_v1('revenue'), v_account.id,
            p_amount_nano, 'refund', p_actor, p_reason, clock_timestamp(), p_charge
        );
    UPDATE billing_account SET balance_nano = balance_nano + p_amount_nano WHERE id = v_account.id;
    refundable_nano := refundable_nano - p_amount_nano;
    outcome := 'moved';
END $$;
"""

REFUND_CHARGE_REVERSE = "DROP FUNCTION billing_refund_charge_v1(bigint, text, bigint, text, text);"


class Migration(migrations.Migration):
    dependencies = [("billing", "0003_ledger_reads_and_grants")]

    operations = [
        migrations.RunSQL(BALANCE_AFTER, BALANCE_AFTER_REVERSE),
        migrations.RunSQL(GIVE_GRANT, GIVE_GRANT_REVERSE),
        migrations.RunSQL(EXPIRE_GRANT, EXPIRE_GRANT_REVERSE),
        migrations.RunSQL(SET_CREDIT_LIMIT, SET_CREDIT_LIMIT_REVERSE),
        migrations.RunSQL(REFUND_CHARGE, REFUND_CHARGE_REVERSE),
    ]
