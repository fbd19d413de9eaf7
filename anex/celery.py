"""The Celery application: a doorbell for the workers' pumps and the clock of the sweeps."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")

app = Celery("anex")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
