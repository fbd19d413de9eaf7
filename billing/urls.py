"""Console paths of billing."""

from django.urls import path

from billing.views import credits, topups, usage, webhooks

urlpatterns = [
    path("credits", credits.credits_page, name="credits"),
    path("credits/ledger.csv", credits.ledger_csv, name="ledger_csv"),
    path("credits/statements/<int:year>-<int:month>", credits.statement_page, name="statement"),
    path("credits/alert", credits.balance_alert, name="balance_alert"),
    path("credits/add", topups.add, name="credits_add"),
    path("credits/auto", topups.auto, name="auto_topup"),
    path("credits/auto/forget", topups.forget_method, name="forget_method"),
    path("credits/payments/<uuid:topup_id>", topups.topup, name="topup"),
    path("credits/payments/<uuid:topup_id>/receipt", topups.receipt, name="receipt"),
    path("usage", usage.usage_page, name="usage"),
    path("usage.csv", usage.usage_csv, name="usage_csv"),
    path("billing/local/<uuid:topup_id>", webhooks.local_payment, name="local_payment"),
    path("billing/webhooks/<slug:gateway_name>", webhooks.webhook, name="payment_webhook"),
]
