import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0012_files")]

    operations = [
        migrations.CreateModel(
            name="Batch",
            fields=[
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="batch",
                        serialize=False,
                        to="jobs.job",
                    ),
                ),
                ("endpoint", models.CharField(max_length=40)),
                ("has_metadata", models.BooleanField(default=False)),
            ],
        ),
    ]
