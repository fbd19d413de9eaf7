from django.db import migrations, models


def add_batch(apps, schema_editor):
    apps.get_model("accounts", "Freeze").objects.create(surface="batch")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_idempotency")]

    operations = [
        migrations.CreateModel(
            name="Freeze",
            fields=[
                ("surface", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("frozen_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name="organization",
            name="eu_routing",
            field=models.BooleanField(
                default=False, help_text="Batch data is kept in the EEA unless a request says world"
            ),
        ),
        migrations.RunPython(add_batch, migrations.RunPython.noop),
    ]
