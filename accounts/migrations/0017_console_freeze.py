"""The console can be frozen too."""

from django.db import migrations


def add_console(apps, schema_editor):
    apps.get_model("accounts", "Freeze").objects.get_or_create(surface="console")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_names")]

    operations = [migrations.RunPython(add_console, migrations.RunPython.noop)]
