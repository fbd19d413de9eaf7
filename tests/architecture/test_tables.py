"""Tables of different apps do not grow into each other."""

from django.apps import apps
from django.db.models import ForeignObject, Model

OUR_APPS = ("accounts", "billing", "inference", "jobs", "realtime", "console")
SHARED = {"accounts.Organization", "accounts.User"}


def our_models() -> list[type[Model]]:
    return [model for label in OUR_APPS for model in apps.get_app_config(label).get_models(include_auto_created=True)]


def test_foreign_keys_stay_inside_an_app_or_name_an_organization_or_a_person() -> None:
    crossing = [
        f"{model._meta.label}.{field.name} → {field.related_model._meta.label}"
        for model in our_models()
        for field in model._meta.get_fields(include_hidden=True)
        if isinstance(field, ForeignObject)
        and field.related_model._meta.app_label != model._meta.app_label
        and field.related_model._meta.label not in SHARED
        and not inherited(model, field)
    ]
    assert crossing == []


def inherited(model: type[Model], field: ForeignObject) -> bool:
    """A person's groups and permissions come with Django's own user."""
    return model._meta.label in {"accounts.User_groups", "accounts.User_user_permissions"} and field.model is model


def test_inference_has_no_customer() -> None:
    fields = [field for model in apps.get_app_config("inference").get_models() for field in model._meta.get_fields()]
    assert not [field.name for field in fields if field.related_model is not None]
