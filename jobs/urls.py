"""The paths of the batch API, under `/batch/v1`."""

from django.urls import path

from jobs.api.inputs import InputsView, InputView
from jobs.api.jobs import (
    ApproveView,
    CancelView,
    DataView,
    JobsView,
    JobView,
    PauseView,
    ResultView,
    ResumeView,
    RetryView,
)
from jobs.api.live import RowsView

urlpatterns = [
    path("inputs", InputsView.as_view()),
    path("inputs/<str:id>", InputView.as_view()),
    path("jobs", JobsView.as_view()),
    path("jobs/<str:id>", JobView.as_view()),
    path("jobs/<str:id>/approve", ApproveView.as_view()),
    path("jobs/<str:id>/cancel", CancelView.as_view()),
    path("jobs/<str:id>/pause", PauseView.as_view()),
    path("jobs/<str:id>/resume", ResumeView.as_view()),
    path("jobs/<str:id>/retry", RetryView.as_view()),
    path("jobs/<str:id>/result", ResultView.as_view()),
    path("jobs/<str:id>/rows", RowsView.as_view()),
    path("jobs/<str:id>/data", DataView.as_view()),
]
