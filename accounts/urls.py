"""Console paths of accounts."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("keys", views.key_list, name="keys"),
    path("keys/new", views.key_create, name="key_create"),
    path("keys/<str:key_id>/revoke", views.key_revoke, name="key_revoke"),
    path("organizations/new", views.organization_new, name="organization_new"),
]
