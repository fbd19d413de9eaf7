from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0016_file_urls'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='batch',
            options={'verbose_name_plural': 'batches'},
        ),
    ]
