"""Chat templates are files anybody can load, byte for byte (reference 002, docs)."""

import hashlib
import json
from pathlib import Path

import pytest
from django.test import Client

from inference import catalogue
from tests.models_folder import ModelsFolder

SMALL = "smollm2-135m-instruct"
# What an editor or a checkout would mend.
CONTENT = b"\xef\xbb\xbf{{ bos_token }}\r\n{# \xc3\xa4 #} \n\n"


@pytest.fixture
def anybody() -> Client:
    return Client()


def path_of(model_id: str) -> str:
    return f"/static/chat-templates/{model_id}.jinja"


def add(operator: ModelsFolder, model_id: str, **facts: str) -> None:
    (operator.path / model_id).mkdir()
    (operator.path / model_id / "chat_template.jinja").write_bytes(CONTENT)
    operator.add(model_id, **facts)


def test_template_is_served_as_it_is_published(anybody: Client, operator: ModelsFolder) -> None:
    add(operator, "acme-chat")
    answer = anybody.get(path_of("acme-chat"))
    assert answer.content == CONTENT
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Cache-Control"] == "public, max-age=300"


def test_template_a_client_has_is_not_sent_again(anybody: Client) -> None:
    model = catalogue.get(SMALL)
    assert model is not None
    source = model.files.chat_template
    assert isinstance(source, Path)
    first = anybody.get(path_of(SMALL))
    assert first.content == source.read_bytes()
    again = anybody.get(path_of(SMALL), headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    assert anybody.get(path_of(SMALL), headers={"If-None-Match": '"other"'}).status_code == 200


def test_index_names_digest_and_origin_of_every_template(anybody: Client, operator: ModelsFolder) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    origin = f"https://models.example/acme/chat/blob/{commit}/chat_template.jinja"
    add(operator, "acme-chat", chat_template=f"{{source: '{origin}', commit: '{commit}'}}")
    add(operator, "acme-plain")
    answer = anybody.get("/static/chat-templates/index.json")
    index = json.loads(answer.content)
    assert set(index) == {SMALL, "acme-chat", "acme-plain"}
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert index["acme-chat"] == {"path": path_of("acme-chat"), "sha256": digest, "source": origin, "commit": commit}
    assert (index["acme-plain"]["source"], index["acme-plain"]["commit"]) == (None, None)
    for entry in index.values():
        assert hashlib.sha256(anybody.get(entry["path"]).content).hexdigest() == entry["sha256"]
    assert answer["ETag"]


def test_template_of_a_custom_model_is_not_public(anybody: Client, operator: ModelsFolder) -> None:
    add(operator, "acme-chat", organization="0f0e0d0c-0b0a-4908-8706-050403020100")
    assert "acme-chat" not in json.loads(anybody.get("/static/chat-templates/index.json").content)
    assert anybody.get(path_of("acme-chat")).status_code == 404


@pytest.mark.parametrize("model_id", ["no-such-model", "laya", "..%2f..%2fsettings"])
def test_what_has_no_template_is_404(anybody: Client, model_id: str) -> None:
    assert anybody.get(path_of(model_id)).status_code == 404
