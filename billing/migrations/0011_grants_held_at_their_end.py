"""What was held when a grant ended is taken back once it is released, instead of staying for good."""

from django.db import migrations, models
from django.db.models import Q

# Takes back what is unspent of a grant, never what is held or owed. p_held_nano, the part of it that is held, keeps the
# grant open: it is called again when that is less. outcome: expired | already | unknown_grant
EXPIRE_GRANT = """
CREATE FUNCTION billing_expire_grant_v2(
    p_source text, p_unspent_nano bigint, p_held_nano bigint, p_actor text,
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
    IF v_grant.expired_at IS NOT NULL AND v_grant.held_nano = 0 THEN
        outcome := 'already';
        taken_nano := v_grant.expired_nano;
        RETURN;
    END IF;
    taken_nano := greatest(0, least(
        p_unspent_nano,
        v_grant.amount_nano - coalesce(v_grant.expired_nano, 0),
        v_account.balance_nano - v_account.held_nano
    ));
    IF taken_nano > 0 THEN
        -- What was taken before only grows, so no two lines have one source.
        INSERT INTO billing_transfer (source, debit_id, credit_id, amount_nano, kind, actor, reason, at)
            VALUES (
                p_source || coalesce(':e' || to_hex(v_grant.expired_nano), ':expiry'), v_account.id,
                billing_platform_account_v1('grants'), taken_nano, 'expiry', p_actor, '', clock_timestamp()
            );
        UPDATE billing_account SET balance_nano = balance_nano - taken_nano WHERE id = v_account.id;
    END IF;
    UPDATE billing_grant SET
        expired_at = coalesce(expired_at, clock_timestamp()),
        expired_nano = coalesce(expired_nano, 0) + taken_nano,
        held_nano = least(p_held_nano, amount_nano)
        WHERE id = v_grant.id;
    outcome := 'expired';
END $$;
"""

EXPIRE_GRANT_REVERSE = "DROP FUNCTION billing_expire_grant_v2(text, bigint, bigint, text);"


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0010_balance_alerts'),
    ]

    operations = [
        migrations.AddField(
            model_name='grant',
            name='held_nano',
            field=models.BigIntegerField(db_default=0, default=0, help_text='What was held at its end and may come back'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=Q(held_nano__gt=0), fields=['account'], name='grants_still_held'),
        ),
        migrations.RunSQL(EXPIRE_GRANT, EXPIRE_GRANT_REVERSE),
    ]
