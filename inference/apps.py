"""Django application of inference."""

from django.apps import AppConfig


class InferenceConfig(AppConfig):
    name = "inference"
    verbose_name = "Models"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks and take in the operator's models."""
        from django.conf import settings

        from inference import catalogue, checks  # noqa: F401

        catalogue.include(settings.ANEX_MODELS_DIR)
