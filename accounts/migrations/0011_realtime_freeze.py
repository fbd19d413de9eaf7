"""The realtime API can be frozen too."""

from django.db import migrations


def add_realtime(apps, schema_editor):
    apps.get_model("accounts", "Freeze").objects.get_or_create(surface="realtime")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_residency")]

    operations = [migrations.RunPython(add_realtime, migrations.RunPython.noop)]
