"""Every path of the platform, by surface."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("anex.console.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("billing.urls")),
    path("batch/v1/", include("jobs.urls")),
    path("v1/", include("billing.api.urls")),
]
