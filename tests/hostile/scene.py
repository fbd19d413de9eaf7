"""One person who may do everything, and one thing of each kind that paths name; all of it Acme's."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.test import Client

from accounts.models import User
from accounts.services import invitations
from anex.core import clock
from billing.services import topups
from jobs.models import FileUpload
from tests.console import scenes
from tests.factories import (
    PASSWORD,
    KeyInHand,
    actor_of,
    add_member,
    grant_credits,
    make_key,
    make_organization,
    make_user,
    pass_second_factor,
)
from tests.hostile.walker import Sender
from tests.jobs import batches
from tests.whole import Route

CSRF = "c" * 32
# What no answer and no line of the log may hold, whatever is sent.
MARKS = {
    "ANEX_STRIPE_WEBHOOK_SECRET": "mark-of-stripe-webhook",
    "ANEX_METRICS_TOKEN": "mark-of-metrics-token",
    "EMAIL_HOST_PASSWORD": "mark-of-mail-password",
}


@dataclass
class Scene:
    """Who asks, and what may be named."""

    key: KeyInHand
    values: dict[str, str]
    spared: dict[str, str]

    def value_of(self, route: Route) -> Any:
        """What stands for a parameter of this route, by its name; a new name is a word."""
        model = route.route.split("/")[2] if route.route.startswith("admin/") and route.route.count("/") > 2 else ""

        def value(name: str) -> str:
            return self._object(model) if name == "object_id" else self.values.get(name, "x")

        return value

    def _object(self, model: str) -> str:
        if model in self.spared:
            return self.spared[model]
        found = next((made for made in apps.get_models() if made._meta.model_name == model), None)
        first = found and admin.site.is_registered(found) and found.objects.order_by("pk").first()
        return str(first.pk) if first else "1"

    def sign_in(self, sender: Sender) -> None:
        """A new session of staff that owns Acme and has passed a second factor."""
        browser, root = Client(), User.objects.get(email="ada@example.com")
        User.objects.filter(pk=root.pk).update(is_active=True, is_staff=True, is_superuser=True)
        browser.force_login(root)
        pass_second_factor(browser, root)
        session = browser.cookies[settings.SESSION_COOKIE_NAME].value
        sender.cookie = f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={CSRF}"
        sender.person = {"X-CSRFToken": CSRF}
        sender.key = {"Authorization": self.key.header}


def made() -> Scene:
    """Everything, once."""
    ada = make_user("ada", is_staff=True, is_superuser=True)
    acme = make_organization("Acme")
    grant_credits(acme)
    joan, payment = add_member(acme, "joan"), uuid.uuid4()
    offer = invitations.create(organization_id=acme.pk, email="hedy@example.com", role="member", actor=actor_of(ada))
    topups.start(organization_id=acme.pk, topup_id=payment, cents=2_000, save_method=False, actor=actor_of(ada))
    endpoint, batch = scenes.endpoint(acme), batches.make(scenes.done(acme))
    key, spare = make_key(acme), make_key(acme, name="spare")
    FileUpload.objects.create(organization=acme, region="world", lapses_at=clock.now())
    values = {
        "key_id": spare.caller.key_id,
        "job_id": scenes.quoted(acme).pk,
        "input_id": batch.input_id,
        "organization_id": acme.pk,
        "invitation_id": offer.pk,
        "user_id": joan.pk,
        "topup_id": payment,
        "endpoint_id": endpoint.pk,
        "delivery_id": scenes.delivery(endpoint, job=batch).pk,
        "file_id": f"file-{batch.input_id.hex}",
        "id": f"batch_{batch.pk.hex}",
        "number": 0,
        "pk": 1,
        "year": f"{clock.now():%Y}",
        "month": f"{clock.now():%m}",
        "gateway_name": "local",
        "slug": "quickstart",
        "model": "scripted",
        "model_id": "qwen3.8-27b",
        "url": "nothing",
        "app_label": "jobs",
    }
    spared = {"user": str(joan.pk), "apikey": spare.caller.key_id}
    return Scene(key, {name: str(value) for name, value in values.items()}, spared)


def secrets_of(scene: Scene) -> list[str]:
    """What nothing may repeat."""
    return [settings.SECRET_KEY, PASSWORD, scene.key.secret[15:], *MARKS.values()]
