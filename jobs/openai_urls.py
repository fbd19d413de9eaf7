"""The paths of batches on the OpenAI-compatible host, under `/v1`."""

from django.urls import path

from jobs.api.batches.views import BatchesView, BatchView, CancelBatchView

urlpatterns = [
    path("batches", BatchesView.as_view()),
    path("batches/<str:id>", BatchView.as_view()),
    path("batches/<str:id>/cancel", CancelBatchView.as_view()),
]
