"""Usage is added up by day as it is written, whichever verb writes it: one statement of it is one row a group.

Every verb that writes usage holds its organization's account, so nobody else waits for the rows of the sums.
"""

import django.db.models.deletion
from django.db import migrations, models

COLUMNS = "organization_id, day, surface, model_id, key_id, requests, input_tokens, cached_tokens, output_tokens, amount_nano"

# How records become sums. `was` are records that an update replaced.
ADD = f"""
    INSERT INTO billing_usageday AS d ({COLUMNS})
        SELECT u.organization_id, (u.at AT TIME ZONE 'UTC')::date, u.surface, u.model_id, u.key_id,
            sum(u.sign * u.requests)::bigint, sum(u.sign * u.input_tokens)::bigint,
            sum(u.sign * u.cached_tokens)::bigint, sum(u.sign * u.output_tokens)::bigint,
            sum(u.sign * u.amount_nano)::bigint
        FROM ({{records}}) AS u
        GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        ON CONFLICT (organization_id, day, surface, model_id, key_id) DO UPDATE SET
            requests = d.requests + EXCLUDED.requests,
            input_tokens = d.input_tokens + EXCLUDED.input_tokens,
            cached_tokens = d.cached_tokens + EXCLUDED.cached_tokens,
            output_tokens = d.output_tokens + EXCLUDED.output_tokens,
            amount_nano = d.amount_nano + EXCLUDED.amount_nano;
"""
NEW = "SELECT 1 AS sign, n.* FROM now_is n"
CHANGED = f"{NEW} UNION ALL SELECT -1 AS sign, w.* FROM was w"

TRIGGERS = f"""
CREATE FUNCTION billing_usage_add_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {ADD.format(records=NEW)}
    RETURN NULL;
END $$;
CREATE FUNCTION billing_usage_replace_v1() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {ADD.format(records=CHANGED)}
    RETURN NULL;
END $$;
CREATE TRIGGER billing_usage_added AFTER INSERT ON billing_usagerecord
    REFERENCING NEW TABLE AS now_is FOR EACH STATEMENT EXECUTE FUNCTION billing_usage_add_v1();
CREATE TRIGGER billing_usage_replaced AFTER UPDATE ON billing_usagerecord
    REFERENCING OLD TABLE AS was NEW TABLE AS now_is FOR EACH STATEMENT EXECUTE FUNCTION billing_usage_replace_v1();
{ADD.format(records="SELECT 1 AS sign, r.* FROM billing_usagerecord r")}
"""

REVERSE = """
DROP TRIGGER billing_usage_replaced ON billing_usagerecord;
DROP TRIGGER billing_usage_added ON billing_usagerecord;
DROP FUNCTION billing_usage_replace_v1();
DROP FUNCTION billing_usage_add_v1();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0012_history_budget'),
        ('billing', '0019_history_budgets'),
    ]

    operations = [
        migrations.AddField(
            model_name='autotopup',
            name='saved_at',
            field=models.DateTimeField(help_text='When the payment method was saved', null=True),
        ),
        migrations.AddField(
            model_name='localpayment',
            name='declines_later',
            field=models.BooleanField(db_default=False, default=False, help_text='The method it saves is refused when it is charged'),
        ),
        migrations.CreateModel(
            name='UsageDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('surface', models.CharField(max_length=20)),
                ('model_id', models.CharField(max_length=64)),
                ('key_id', models.CharField(blank=True, max_length=12)),
                ('requests', models.BigIntegerField()),
                ('input_tokens', models.BigIntegerField()),
                ('cached_tokens', models.BigIntegerField()),
                ('output_tokens', models.BigIntegerField()),
                ('amount_nano', models.BigIntegerField()),
                ('organization', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.organization')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('organization', 'day', 'surface', 'model_id', 'key_id'), name='one_sum_of_usage_a_day')],
            },
        ),
        migrations.RunSQL(TRIGGERS, REVERSE),
    ]
