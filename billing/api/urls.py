"""The paths of money, and of what may be bought with it, on the OpenAI-compatible host under `/v1`."""

from django.urls import path

from billing.api.views import BalanceView, PlansView, UsageView

urlpatterns = [
    path("usage", UsageView.as_view()),
    path("balance", BalanceView.as_view()),
    path("plans", PlansView.as_view()),
]
