"""Every path of the platform, by surface."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from anex.metrics import metrics

# Signing in is limited in one place, and asks for the e-mail address there.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler400 = "anex.refusals.bad_request"
handler404 = "anex.refusals.not_found"
handler500 = "anex.refusals.server_error"
admin.site.index_title = "Staff area"

urlpatterns = [
    path("", include("anex.console.urls")),
    path("", include("anex.docs.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("metrics", metrics),
    path("", include("accounts.urls")),
    path("", include("billing.urls")),
    path("batch/v1/", include("jobs.urls")),
    path("v1/", include("billing.api.urls")),
    path("openai/v1/", include("billing.api.urls")),
    path("v1/", include("jobs.openai_urls")),
    path("v1/", include("jobs.media_urls")),
    path("openai/v1/", include("jobs.media_urls")),
]
