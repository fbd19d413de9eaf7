"""How the staff area looks and is laid out (django-unfold)."""

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy


def _pages(title: str, *pages: tuple[str, str, str]) -> dict[str, Any]:
    items = [
        {"title": name, "icon": icon, "link": reverse_lazy(f"admin:{model}_changelist")} for name, icon, model in pages
    ]
    return {"title": title, "separator": True, "items": items}


UNFOLD = {
    "SITE_TITLE": "Anex staff",
    "SITE_HEADER": "Anex staff",
    "SITE_SYMBOL": "change_history",
    "SITE_URL": "/dashboard",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("console/mark.svg")},
    ],
    "DASHBOARD_CALLBACK": "anex.core.overview.dashboard",
    "BORDER_RADIUS": "8px",
    "COLORS": {
        "primary": {
            "50": "#f4f5fe",
            "100": "#eef0fe",
            "200": "#d9ddfc",
            "300": "#bac1f8",
            "400": "#8f9af3",
            "500": "#6c79f2",
            "600": "#4250d6",
            "700": "#3542bd",
            "800": "#2c3799",
            "900": "#262f7c",
            "950": "#181d4f",
        },
    },
    "SIDEBAR": {
        "show_search": True,
        "navigation": [
            _pages(
                "Customers",
                ("Organizations", "domain", "accounts_organization"),
                ("Plans", "sell", "accounts_plan"),
                ("People", "person", "accounts_user"),
                ("API keys", "key", "accounts_apikey"),
                ("Alerts", "mail", "accounts_alert"),
                ("Audit record", "history", "accounts_auditevent"),
            ),
            _pages(
                "Money",
                ("Balances", "account_balance_wallet", "billing_account"),
                ("Ledger", "receipt_long", "billing_transfer"),
                ("Holds", "lock_clock", "billing_hold"),
                ("Payments", "payments", "billing_topup"),
                ("Expiring grants", "hourglass_bottom", "billing_grant"),
                ("Price cards", "price_change", "billing_pricecard"),
            ),
            _pages(
                "Work",
                ("Jobs", "stacks", "jobs_job"),
                ("Inputs", "upload_file", "jobs_input"),
                ("Batches", "inventory_2", "jobs_batch"),
                ("Files", "description", "jobs_file"),
                ("Uploads", "upload", "jobs_fileupload"),
                ("Chunks", "grid_view", "jobs_chunk"),
                ("Workers", "memory", "jobs_worker"),
                ("Webhooks", "webhook", "jobs_webhookendpoint"),
                ("Deliveries", "outbox", "jobs_webhookdelivery"),
                ("Freezes", "ac_unit", "accounts_freeze"),
                ("Notices", "campaign", "accounts_notice"),
                ("Model servers", "dns", "inference_backend"),
            ),
        ],
    },
}
