from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0020_usage_by_day'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='autotopup',
            options={'verbose_name': 'automatic top-up', 'verbose_name_plural': 'automatic top-ups'},
        ),
        migrations.AlterModelOptions(
            name='keyspend',
            options={'verbose_name': 'spending of a key', 'verbose_name_plural': 'spending of keys'},
        ),
        migrations.AlterModelOptions(
            name='topup',
            options={'verbose_name': 'top-up', 'verbose_name_plural': 'top-ups'},
        ),
    ]
