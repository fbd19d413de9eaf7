"""Django application of jobs."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "Work"
    default_auto_field = "django.db.models.BigAutoField"
