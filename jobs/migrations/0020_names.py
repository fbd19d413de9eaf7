from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0019_jobs_that_ended'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='webhookdelivery',
            options={'verbose_name_plural': 'webhook deliveries'},
        ),
    ]
