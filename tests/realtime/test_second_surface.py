"""`/openai/v1`: the same calls as on `/v1`, under the rules of its own profile."""

from openai import OpenAI

from tests.realtime.served import Surface


def test_second_surface_answers_chat_embeddings_and_models(surface: Surface) -> None:
    client = OpenAI(base_url=f"{surface.origin}/openai/v1", api_key=surface.key.secret, max_retries=0)
    asked = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 20}
    answer = client.chat.completions.create(**asked)  # type: ignore[call-overload]
    assert answer.choices[0].message.content == surface.chat(max_tokens=20).json()["choices"][0]["message"]["content"]
    assert len(client.embeddings.create(model="scripted-embed", input=["a"] * 129).data) == 129
    assert {model.id for model in client.models.list()} == {"scripted", "scripted-media", "scripted-embed"}
    assert client.models.retrieve("scripted").id == "scripted"
    too_long = surface.http.post("/openai/v1/chat/completions", content=b" " * (1024 * 1024 + 1))
    assert too_long.status_code == 413
    assert surface.http.get("/openai/v1/chat/completions").status_code == 405
    records = surface.settled(3)
    assert sorted(record.surface for record in records) == ["chat", "chat", "embeddings"]
    assert len({record.amount_nano for record in records if record.surface == "chat"}) == 1
