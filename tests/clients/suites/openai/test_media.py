"""Pictures and clips inline."""

import base64
import io
import wave

import openai
import pytest

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}", "detail": "low"}}


def clip() -> str:
    """A second of silence."""
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(16_000))
    return base64.b64encode(written.getvalue()).decode()


def ask(client, anex, *parts):
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, *parts]}]
    return client.chat.completions.create(model=anex.media, messages=messages, max_tokens=20)


def test_picture_and_clip_are_read_and_counted(client, anex) -> None:
    sound = {"type": "input_audio", "input_audio": {"data": clip(), "format": "wav"}}
    bare, seen, heard = ask(client, anex), ask(client, anex, PICTURE), ask(client, anex, PICTURE, sound)
    assert bare.usage.prompt_tokens < seen.usage.prompt_tokens < heard.usage.prompt_tokens
    assert heard.choices[0].message.content


def test_part_that_cannot_be_taken_is_named(client, anex) -> None:
    not_one = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(b'no').decode()}"}}
    for parts in ([not_one], [PICTURE] * 3, [{"type": "file", "file": {"file_id": "x"}}]):
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client, anex, *parts)
        assert refused.value.param.startswith("messages[0].content[")
