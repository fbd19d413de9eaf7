from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0009_estimates'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='rows_bytes',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='rows_etag',
            field=models.CharField(blank=True, db_default='', default='', max_length=100),
        ),
        migrations.AddField(
            model_name='job',
            name='rows_key',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
    ]
