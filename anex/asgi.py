"""The ASGI entry: raw handlers for uploads and downloads, Django for the rest."""

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "anex.settings.development")

django_application = get_asgi_application()

application = ProtocolTypeRouter({"http": django_application})
