"""Composition root of the platform."""

from anex.celery import app as celery_app

__all__ = ["celery_app"]
