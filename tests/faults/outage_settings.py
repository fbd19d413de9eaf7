"""Settings of the platform whose services are taken away: connections as in production, sweeps every two seconds."""

from anex.settings.base import CELERY_BEAT_SCHEDULE as _schedule
from anex.settings.base import database
from anex.settings.test import *  # noqa: F403
from anex.settings.test import DATABASES as _databases

DATABASES = {"default": database(_databases["default"])}
CELERY_BEAT_SCHEDULE = {
    name: entry | {"schedule": 2.0, "options": {"expires": 2.0}} for name, entry in _schedule.items()
}
ANEX_METRICS_TOKEN = "metrics"
