"""The paths of money on the OpenAI-compatible hosts, under `/v1` and `/openai/v1`."""

from django.urls import path

from billing.api.turns import TurnView
from billing.api.views import BalanceView, UsageView

urlpatterns = [
    path("usage", UsageView.as_view()),
    path("balance", BalanceView.as_view()),
    path("jobs/<str:turn_id>", TurnView.as_view()),
]
