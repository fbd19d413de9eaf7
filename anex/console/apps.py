"""Django application of the pages that join apps."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "anex.console"
