"""Settings: `development` runs with no environment at all, `production` refuses to start with a missing one.

Whatever reads them may ring the workers, so the Celery application is there with them.
"""

from anex.celery import app as celery_app

__all__ = ["celery_app"]
