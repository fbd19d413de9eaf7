"""A model that lacks a fact is as unknown as one that does not exist, and so is another organization's own model."""

import pytest

from anex.console import offers
from anex.core.actors import system
from inference.backends import registry
from jobs.models import Job
from jobs.services.submissions import offered
from tests.factories import make_input
from tests.jobs.api.conftest import client_of


@pytest.fixture
def submit(acme, key):
    """Ask for a job on a model; the status and the sentence."""

    def ask(model_id):
        body = {"input_id": str(make_input(acme).pk), "model": model_id}
        answer = client_of(key).post("/batch/v1/jobs", body, format="json")
        return answer.status_code, answer.json().get("detail")

    return ask


def serve(model_id, **where):
    registry.configure(model_id=model_id, base_url="http://10.0.0.5/v1", served_name="m", actor=system("test"), **where)


def picked(organization):
    """The operator's models among those a person of the organization can pick."""
    found = offers.current(organization_id=organization.pk, region="world")
    return {offer.model.id for offer in found if offer.model.id.endswith("-chat")}


@pytest.mark.parametrize(
    ("facts", "is_priced", "is_served"),
    [
        ({}, True, True),
        ({"tokenizer": "server"}, False, True),
        ({"tokenizer": "server"}, True, False),
        ({"tokenizer": "server", "regions": "[eu]"}, True, True),
        ({"tokenizer": "server", "organization": "0f0e0d0c-0b0a-4908-8706-050403020100"}, True, True),
    ],
    ids=["no tokenizer", "no price", "no server", "another region", "another organization"],
)
def test_model_that_is_not_offered_is_unknown(operator, acme, submit, facts, is_priced, is_served):
    operator.add("acme-chat", **facts)
    if is_priced:
        operator.price("acme-chat")
    if is_served:
        serve("acme-chat")
    assert submit("acme-chat") == (422, "unknown model 'acme-chat'")
    assert submit("no-such-model") == (422, "unknown model 'no-such-model'")
    assert picked(acme) == set()
    assert not Job.objects.exists()


def test_model_that_takes_media_needs_a_price_for_it(operator, acme, submit):
    """Its first row with a picture would have no price when the job is quoted."""
    media = "{image: {max_inline_mb: 1, max_tokens: 10}}"
    operator.add("acme-chat", tokenizer="server", inputs="[text, image]", media=media)
    operator.price("acme-chat")
    serve("acme-chat")
    assert submit("acme-chat") == (422, "unknown model 'acme-chat'")
    assert picked(acme) == set()


def test_model_that_is_switched_off_says_why(operator, acme, submit):
    operator.add("acme-chat", tokenizer="server")
    operator.price("acme-chat")
    serve("acme-chat")
    registry.switch(enabled=False, model_id="acme-chat", off_reason=" it repeats\nitself. ", actor=system("test"))
    assert submit("acme-chat") == (503, "The model 'acme-chat' is switched off: it repeats itself.")
    registry.switch(enabled=False, model_id="acme-chat", off_reason="long " * 200, actor=system("test"))
    assert submit("acme-chat")[0] == 503
    registry.switch(enabled=True, model_id="acme-chat", actor=system("test"))
    assert submit("acme-chat") == (201, None)


def test_custom_model_is_offered_to_its_organization_only(operator, acme, globex, submit):
    operator.add("acme-chat", tokenizer="server", organization=acme.pk)
    operator.price("acme-chat")
    serve("acme-chat")
    assert submit("acme-chat") == (201, None)
    assert (picked(acme), picked(globex)) == ({"acme-chat"}, set())
    assert offered("acme-chat", organization_id=acme.pk).id == "acme-chat"


def test_model_of_the_operator_without_an_owner_is_offered_to_everybody(operator, acme, globex):
    operator.add("open-chat", tokenizer="server")
    operator.price("open-chat")
    serve("open-chat")
    assert picked(acme) == picked(globex) == {"open-chat"}


def test_price_of_the_operator_takes_the_place_of_ours(operator, acme):
    operator.price("scripted")
    serve("scripted")
    found = offers.current(organization_id=acme.pk, region="world")
    prices = {offer.model.id: offer.text.output for offer in found}
    assert prices["scripted"] == 500_000_000
