"""The list of models, which needs no key."""

import openai
import pytest


@pytest.mark.smoke
def test_models_are_listed_and_retrieved(client, anex) -> None:
    listed = {model.id: model for model in client.models.list()}
    assert {anex.chat, anex.embedding} <= listed.keys()
    for model in listed.values():
        assert (model.object, bool(model.owned_by), model.created > 0) == ("model", True, True)
    assert client.models.retrieve(anex.chat) == listed[anex.chat]


def test_model_that_is_not_there_is_not_found(client) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.models.retrieve("nobody/nothing")
    assert missing.value.code == "model_not_found"


def test_list_needs_no_valid_key(anex) -> None:
    with openai.OpenAI(base_url=anex.base_url, api_key="none") as stranger:
        assert stranger.models.list().data
