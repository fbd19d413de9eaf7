"""The paths of files and batches on the OpenAI-compatible host, under `/v1`."""

from django.urls import path

from jobs.api.batches.views import BatchesView, BatchView, CancelBatchView
from jobs.api.files.views import FilesView, FileView

urlpatterns = [
    path("files", FilesView.as_view()),
    path("files/<str:id>", FileView.as_view()),
    path("batches", BatchesView.as_view()),
    path("batches/<str:id>", BatchView.as_view()),
    path("batches/<str:id>/cancel", CancelBatchView.as_view()),
]
