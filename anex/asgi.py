"""The ASGI entry: raw handlers for uploads and downloads, Django for the rest."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")

django_application = get_asgi_application()

# Imported once Django is set up.
from jobs.storage.asgi import routes as storage_routes  # noqa: E402

application = ProtocolTypeRouter(
    {"http": URLRouter([*storage_routes, re_path(r"", django_application)])}  # type: ignore[arg-type]
)
