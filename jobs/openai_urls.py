"""The paths of files on the OpenAI-compatible host, under `/v1`."""

from django.urls import path

from jobs.api.files.views import FilesView, FileView

urlpatterns = [
    path("files", FilesView.as_view()),
    path("files/<str:id>", FileView.as_view()),
]
