"""A file as OpenAI's clients read it."""

from typing import Any

from jobs.models import File
from jobs.selectors import files


def render(file: File, name: str) -> dict[str, Any]:
    """The file object; a file exists once it is checked, so it is always processed."""
    return {
        "id": files.wire_id(file),
        "object": "file",
        "bytes": file.size_bytes,
        "created_at": int(file.created_at.timestamp()),
        "expires_at": int(file.expires_at.timestamp()),
        "filename": name,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }
