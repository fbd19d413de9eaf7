from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0015_freeze_reasons'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apikey',
            options={'verbose_name': 'API key', 'verbose_name_plural': 'API keys'},
        ),
        migrations.AlterModelOptions(
            name='idempotency',
            options={'verbose_name': 'idempotency key', 'verbose_name_plural': 'idempotency keys'},
        ),
    ]
