"""The width of a job's vectors."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0006_deletion")]

    operations = [
        migrations.AddField(model_name="job", name="dimensions", field=models.PositiveIntegerField(null=True)),
    ]
