"""Every path of the platform, by surface."""

from django.contrib import admin
from django.urls import include, path

admin.site.index_title = "Staff area"

urlpatterns = [
    path("", include("anex.console.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("batch/v1/", include("jobs.urls")),
]
