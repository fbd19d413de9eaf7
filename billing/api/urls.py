"""The paths of money on the OpenAI-compatible host, under `/v1`."""

from django.urls import path

from billing.api.views import BalanceView, UsageView

urlpatterns = [
    path("usage", UsageView.as_view()),
    path("balance", BalanceView.as_view()),
]
