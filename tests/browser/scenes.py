"""Acme with something on every page, and what stands in the addresses of its pages."""

import re
from typing import Any
from uuid import uuid4

from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.core import mail
from django.test import Client

from accounts.models import Organization, User
from accounts.services import invitations, people
from anex.core import clock
from anex.docs import library
from billing.services import holds, topups
from inference.models import Backend
from tests.console import scenes
from tests.factories import actor_of, add_member, grant_credits, make_key, make_organization
from tests.jobs.run.test_browsing import a_job, failed, said

# What the parameters of addresses are, several in a list; what one page wants otherwise is named `page.parameter`.
Values = dict[str, Any]


def furnish(acme: Organization, owner: User) -> Values:
    """Models on offer, jobs at every stage, keys, webhooks, payments and members; the parameters of every address."""
    actor = actor_of(owner)
    people.verify_address(user_id=owner.pk)
    for model in (scenes.MODEL, "minilm-l6-v2", "minilm-decide"):
        Backend.objects.create(model_id=model, base_url="http://127.0.0.1:9/v1", served_name=model)
    grant_credits(acme)
    paid, opened = uuid4(), uuid4()
    for topup in (paid, opened):
        topups.start(organization_id=acme.pk, topup_id=topup, cents=2_500, save_method=False, actor=actor)
    browser = Client()
    browser.force_login(owner)
    browser.post(f"/billing/local/{paid}", {"decision": "pay"})
    topups.confirm(organization_id=acme.pk, topup_id=paid)
    mary = add_member(acme, "mary")
    invitation = invitations.create(organization_id=acme.pk, email="grace@example.com", role="member", actor=actor)
    jobs = {name: getattr(scenes, name)(acme) for name in ("quoted", "running", "failed", "done")}
    read = a_job(acme, [{0: said(0, "It is hydrogen."), 1: failed(1)}])
    holds.place(organization_id=acme.pk, source=f"job:{jobs['running'].pk}", amount_nano=4_120_000_000, actor=actor)
    asked = uuid4().hex
    holds.place(organization_id=acme.pk, source=f"req:{asked}", amount_nano=1, actor=actor)
    endpoint = scenes.endpoint(acme, description="Orders")
    now = clock.now()
    return {
        "key_id": make_key(acme, name="nightly").caller.key_id,
        "job_id": jobs["done"].pk,
        "job_approve.job_id": jobs["quoted"].pk,
        "job_cancel.job_id": jobs["running"].pk,
        "job_pause.job_id": jobs["running"].pk,
        "input_id": jobs["done"].input_id,
        "job_results.job_id": read.pk,
        "job_result_row.job_id": read.pk,
        "number": 1,
        "endpoint_id": endpoint.pk,
        "delivery_id": scenes.delivery(endpoint, job=jobs["done"]).pk,
        "topup_id": paid,
        "local_payment.topup_id": opened,
        "invitation_id": invitation.pk,
        "token": re.findall(r"/invitations/(\S+)", str(mail.outbox[-1].body))[0],
        "user_id": mary.pk,
        "organization_id": make_organization("Initech", owner=owner).pk,
        "year": now.year,
        "month": now.month,
        "model_id": scenes.MODEL,
        "request_id": asked,
        "gateway_name": "local",
        "job.job_id": [job.pk for job in jobs.values()],
        "docs_page.slug": [page.slug for page in library.pages() if page.slug],
        "blog_post.slug": [],
    }


def arm(person: User) -> None:
    """Give a person an authenticator app and recovery codes."""
    TOTP.activate(person, generate_totp_secret())
    RecoveryCodes.activate(person)
