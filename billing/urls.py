"""Console paths of billing."""

from django.urls import path

from billing.views import credits

urlpatterns = [
    path("credits", credits.credits_page, name="credits"),
    path("credits/ledger.csv", credits.ledger_csv, name="ledger_csv"),
    path("credits/statements/<int:year>-<int:month>", credits.statement_page, name="statement"),
]
