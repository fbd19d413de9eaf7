"""Who answers for a model, and for how long."""

from datetime import timedelta

import pytest
from django.db.models import F

from anex.core.actors import system
from anex.core.errors import InvalidRequest, NotFound
from inference.backends import registry
from inference.models import Backend

pytestmark = pytest.mark.django_db

ACTOR = system("test")
HERE = {"model_id": "scripted", "base_url": "http://10.0.0.5:8000/v1"}


def configure(**changes):
    return registry.configure(**{**HERE, "served_name": "scripted", "actor": ACTOR, **changes})


def register(**changes):
    return registry.register(**{**HERE, "served_name": "scripted", "version": "0.32.0", "actor": ACTOR, **changes})


def age(backend_id, seconds):
    Backend.objects.filter(pk=backend_id).update(seen_at=F("seen_at") - timedelta(seconds=seconds))


def live_ids(region="world"):
    return [server.id for server in registry.live(region)]


def test_configured_server_is_live_without_renewal():
    backend_id = configure(base_url="http://10.0.0.5:8000/v1/", concurrency=7, reuse_connections=False)
    [server] = registry.live("world")
    assert server == registry.Server(
        backend_id, "scripted", "world", "http://10.0.0.5:8000/v1", "scripted", "", 7, False
    )


def test_configuring_an_address_again_changes_its_row():
    first = configure()
    assert configure(served_name="other") == first
    assert [server.served_name for server in registry.live("world")] == ["other"]


def test_server_of_another_region_is_not_live_here():
    backend_id = configure(region="eu")
    assert live_ids() == []
    assert live_ids("eu") == [backend_id]


def test_registered_server_is_live_for_thirty_seconds_after_it_was_seen():
    backend_id = register()
    age(backend_id, 25)
    assert live_ids() == [backend_id]
    age(backend_id, 10)
    assert live_ids() == []
    assert registry.renew(backend_id=backend_id)
    assert live_ids() == [backend_id]


def test_withdrawn_server_is_not_live_until_it_registers_again():
    backend_id = register()
    registry.withdraw(backend_id=backend_id, actor=ACTOR)
    assert live_ids() == []
    assert register() == backend_id
    assert live_ids() == [backend_id]


def test_renewing_a_removed_server_says_so():
    backend_id = register()
    registry.remove(**HERE, actor=ACTOR)
    assert not registry.renew(backend_id=backend_id)


def test_switched_off_server_stays_off_when_it_registers_again():
    register()
    registry.switch(enabled=False, **HERE, actor=ACTOR)
    register()
    assert live_ids() == []
    registry.switch(enabled=True, **HERE, actor=ACTOR)
    assert len(live_ids()) == 1


def test_registration_does_not_take_over_a_configured_row():
    backend_id = configure(concurrency=3)
    assert register(concurrency=64) == backend_id
    registry.withdraw(backend_id=backend_id, actor=ACTOR)
    [server] = registry.live("world")
    assert server.concurrency == 3
    assert Backend.objects.get(pk=backend_id).version == "0.32.0"


def test_key_is_read_from_the_environment_and_never_stored(monkeypatch):
    configure(credential_env="ANEX_TEST_MODEL_KEY")
    monkeypatch.setenv("ANEX_TEST_MODEL_KEY", "secret-key")
    assert [server.api_key for server in registry.live("world")] == ["secret-key"]
    assert "secret-key" not in str(Backend.objects.values().get())


def test_key_may_be_a_file_that_is_replaced_and_a_file_that_is_missing_is_no_key(monkeypatch, tmp_path):
    configure(credential_env="ANEX_TEST_MODEL_KEY")
    monkeypatch.setenv("ANEX_TEST_MODEL_KEY_FILE", str(tmp_path / "key"))
    assert registry.live("world") == []
    for key in ("first", "second"):
        (tmp_path / "key").write_text(f"{key}\n")
        assert [server.api_key for server in registry.live("world")] == [key]


def test_server_without_its_key_is_left_out(monkeypatch):
    configure(credential_env="ANEX_TEST_MODEL_KEY")
    monkeypatch.delenv("ANEX_TEST_MODEL_KEY", raising=False)
    assert registry.live("world") == []


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"base_url": "10.0.0.5:8000"}, "base_url"),
        ({"base_url": "ftp://host/v1"}, "base_url"),
        ({"base_url": "http:///v1"}, "base_url"),
        ({"base_url": "http://user:pw@host/v1"}, "base_url"),
        ({"base_url": "http://host/v1?key=1"}, "base_url"),
        ({"base_url": "http://host:99999/v1"}, "base_url"),
        ({"base_url": "http://[::1/v1"}, "base_url"),
        ({"base_url": "http://host/" + "v" * 200}, "base_url"),
        ({"region": "mars"}, "region"),
        ({"credential_env": "sk-not-a-name"}, "credential_env"),
        ({"concurrency": 0}, "concurrency"),
    ],
)
@pytest.mark.parametrize("call", [configure, register])
def test_mistyped_server_is_refused_naming_the_field(call, changes, param):
    with pytest.raises(InvalidRequest) as caught:
        call(**changes)
    assert caught.value.param == param
    assert not Backend.objects.exists()


@pytest.mark.parametrize("call", [registry.remove, lambda **named: registry.switch(enabled=True, **named)])
def test_changing_an_unknown_server_is_not_found(call):
    configure()
    with pytest.raises(NotFound):
        call(model_id="scripted", base_url="http://elsewhere/v1", actor=ACTOR)


def test_all_servers_of_a_model_can_be_switched_at_once():
    configure()
    configure(base_url="http://10.0.0.6:8000/v1")
    assert registry.switch(enabled=False, model_id="scripted", actor=ACTOR) == 2
    assert live_ids() == []
