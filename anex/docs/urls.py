"""Paths of what developers read."""

from django.urls import path

from anex.docs import views

urlpatterns = [
    path("openapi.json", views.openapi_json, name="openapi_json"),
    path("openapi.yaml", views.openapi_yaml, name="openapi_yaml"),
    path("static/chat-templates/index.json", views.chat_template_index, name="chat_template_index"),
    path("static/chat-templates/<str:model_id>.jinja", views.chat_template, name="chat_template"),
    path("docs/errors", views.errors, name="errors"),
    path("docs/api/try", views.swagger, name="swagger"),
    path("docs/api/reference", views.redoc, name="redoc"),
]
