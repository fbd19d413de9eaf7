"""The ASGI entry: the edge in front, then raw handlers for what is realtime or streams, Django for the rest."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.urls import re_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")

django_application = get_asgi_application()

# Imported once Django is set up.
from anex.console.live import socket  # noqa: E402
from anex.core import tracing  # noqa: E402
from anex.edge import RateLimit  # noqa: E402
from anex.guard import Bounded, Guard  # noqa: E402
from anex.health import routes as health_routes  # noqa: E402
from anex.observed import Observed  # noqa: E402
from jobs.api.files.routes import routes as file_routes  # noqa: E402
from jobs.services import media  # noqa: E402
from jobs.storage.asgi import routes as storage_routes  # noqa: E402
from realtime.asgi import lifespan  # noqa: E402
from realtime.asgi import routes as realtime_routes  # noqa: E402

tracing.begin("anex-web", region=settings.ANEX_REGION)
_django = Bounded(django_application)  # type: ignore[arg-type]
raw_routes = [*health_routes, *realtime_routes, *file_routes(_django), *storage_routes]
surfaces = URLRouter([*raw_routes, re_path(r"", _django)])  # type: ignore[arg-type]
_protocols = {"http": Guard(RateLimit(surfaces)), "websocket": socket.application, "lifespan": lifespan(media.read)}
application = Observed(ProtocolTypeRouter(_protocols))
