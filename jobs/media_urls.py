"""The paths of pictures and clips that requests name by URL, on the OpenAI-compatible hosts."""

from django.urls import path

from jobs.api.media import UploadedView, UploadsView

urlpatterns = [
    path("uploads", UploadsView.as_view()),
    path("uploads/<path:name>", UploadedView.as_view()),
]
