"""The chat templates that rows are rendered with, as files anybody can load (reference 002, docs)."""

import hashlib
from typing import Any

import orjson

from inference import catalogue
from inference.catalogue import Model


def of(model_id: str) -> bytes | None:
    """A model's template as its checkpoint publishes it; None where there is none, or it is one organization's own."""
    model = catalogue.get(model_id)
    return _read(model) if model and model.organization is None else None


def index() -> bytes:
    """By model: its template's path and digest, and where it was copied from; null where that is not known. JSON."""
    public = (model for model in catalogue.all_models() if model.organization is None)
    return orjson.dumps({model.id: _entry(model, content) for model in public if (content := _read(model)) is not None})


def etag(content: bytes | None) -> str | None:
    """The entity tag of these bytes."""
    return None if content is None else f'"{_digest(content)}"'


def _read(model: Model) -> bytes | None:
    path = model.files.chat_template
    return path.read_bytes() if path else None


def _entry(model: Model, content: bytes) -> dict[str, Any]:
    origin = model.chat_template
    return {
        "path": f"/static/chat-templates/{model.id}.jinja",
        "sha256": _digest(content),
        "source": origin.source if origin else None,
        "commit": origin.commit if origin else None,
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
