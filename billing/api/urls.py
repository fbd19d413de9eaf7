"""The paths of money, and of what may be bought with it, on the OpenAI-compatible hosts."""

from django.urls import path

from billing.api.turns import TurnView
from billing.api.views import BalanceView, PlansView, UsageView

urlpatterns = [
    path("usage", UsageView.as_view()),
    path("balance", BalanceView.as_view()),
    path("jobs/<str:turn_id>", TurnView.as_view()),
    path("plans", PlansView.as_view()),
]
