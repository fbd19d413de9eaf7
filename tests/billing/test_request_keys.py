"""What an idempotency key of a request is: the client's own, folded, or derived from the request."""

from hashlib import sha256

import pytest

from billing import request_keys

PATH = "/openai/v1/chat/completions"


@pytest.mark.parametrize("key", ["a", "A.b-c_9", "x" * 64])
def test_key_inside_the_set_stays_as_it_is(key):
    assert request_keys.fold(key) == key


@pytest.mark.parametrize("key", ["x" * 65, "two words", "schlüssel", "a/b", "\ud800", "a\n"])
def test_key_outside_the_set_is_folded_into_it(key):
    folded = request_keys.fold(key)
    assert folded == sha256(key.encode(errors="surrogatepass")).hexdigest()
    assert request_keys.is_plain(folded)
    named = request_keys.named(key, "chat", path=PATH, body=b"{}")
    assert named == request_keys.named(folded, "chat", path=PATH, body=b"{}")


def test_kinds_have_keys_of_their_own_and_the_request_is_told_apart():
    chat = request_keys.named("a", "chat", path=PATH, body=b"{}")
    assert request_keys.named("a", "embeddings", path=PATH, body=b"{}").digest != chat.digest
    other = request_keys.named("a", "chat", path=PATH, body=b"{ }")
    assert (other.digest == chat.digest, other.asked == chat.asked) == (True, False)


def test_derived_key_is_of_the_api_key_and_all_that_is_asked():
    def text(key_id="abc", path=PATH, body=b"{}"):
        return request_keys.derived(key_id, "chat", path=path, body=body).text

    assert text() == text()
    assert len({text(), text(key_id="abd"), text(path="/openai/v1/responses"), text(body=b"[]")}) == 4
    assert request_keys.is_plain(text())
