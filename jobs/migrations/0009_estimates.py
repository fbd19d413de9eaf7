"""What an estimate measures and promises beside the cap: thinking budget, expected cost, and how fast jobs went."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0008_media")]

    operations = [
        migrations.AddField("job", "estimated_reasoning_budget", models.PositiveIntegerField(
            help_text="Where the customer set none", null=True,
        )),
        migrations.AddField("job", "expected_cost_cents", models.BigIntegerField(null=True)),
        migrations.AddField("job", "expected_cost_low_cents", models.BigIntegerField(null=True)),
        migrations.AddField("job", "expected_cost_high_cents", models.BigIntegerField(null=True)),
        migrations.AddField("job", "startup_seconds", models.FloatField(null=True)),
        migrations.AddField("job", "tokens_per_second", models.FloatField(null=True)),
        migrations.AddField("job", "tokens_per_row", models.FloatField(null=True)),
        migrations.AddIndex(
            "job",
            models.Index(
                condition=models.Q(("tokens_per_second__isnull", False)),
                fields=["model_id", "region", "-finished_at"],
                name="jobs_with_a_pace",
            ),
        ),
        migrations.RemoveField("part", "longest_output_tokens"),
        migrations.AddField("part", "lengths", django.contrib.postgres.fields.ArrayField(
            base_field=django.contrib.postgres.fields.ArrayField(
                base_field=models.PositiveIntegerField(), size=3
            ),
            help_text="Of a sample, per answer: tokens, tokens of thinking, and 1 where it was cut off",
            null=True,
            size=None,
        )),
    ]
