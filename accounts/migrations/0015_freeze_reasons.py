"""Taking files in can be frozen too, a freeze tells why, and the console shows notices."""

from django.db import migrations, models


def add_uploads(apps, schema_editor):
    apps.get_model("accounts", "Freeze").objects.get_or_create(surface="uploads")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0014_audit_targets")]

    operations = [
        migrations.AddField(
            model_name="freeze",
            name="reason",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.RunPython(add_uploads, migrations.RunPython.noop),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.CharField(max_length=500)),
                ("shown_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
            ],
        ),
    ]
