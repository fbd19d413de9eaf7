"""`manage.py backends`."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from inference.backends import registry

pytestmark = pytest.mark.django_db

URL = "http://10.0.0.5:8000/v1"


def run(*arguments):
    out = StringIO()
    call_command("backends", *arguments, stdout=out)
    return out.getvalue()


def test_server_is_set_listed_switched_and_removed():
    run("set", "scripted", URL, "--concurrency", "7", "--no-reuse")
    [server] = registry.live("world")
    assert (server.served_name, server.concurrency, server.reuse_connections) == ("scripted", 7, False)
    assert run("list").split("\t")[:6] == ["scripted", "world", URL, "scripted", "configured", "on"]
    run("off", "scripted")
    assert registry.live("world") == []
    run("on", "scripted", URL)
    assert len(registry.live("world")) == 1
    assert run("remove", "scripted") == "1 server of scripted: remove.\n"
    assert run("list") == ""


def test_model_outside_the_catalogue_is_refused():
    with pytest.raises(CommandError, match="no-such-model"):
        run("set", "no-such-model", URL)
    assert registry.every() == []


def test_refusal_of_the_registry_is_a_sentence():
    with pytest.raises(CommandError, match="http://host:port/v1"):
        run("set", "scripted", "nonsense")


def test_switching_an_unknown_server_fails():
    with pytest.raises(CommandError, match="no such server"):
        run("off", "scripted")
