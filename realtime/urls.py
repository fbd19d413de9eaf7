"""The paths of the realtime API, under `/realtime/v1`."""

from django.urls import path

from realtime.api import EmbeddingsView, ModelsView, SystemOneView

urlpatterns = [
    path("models", ModelsView.as_view()),
    path("embeddings", EmbeddingsView.as_view()),
    path("systemone", SystemOneView.as_view()),
]
