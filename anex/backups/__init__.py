"""A copy of an installation in a folder, and an empty installation filled from it: docs/backups.md.

backup.json     what is in it; written last, so that a folder without it is no backup
database.dump   of pg_dump, as one moment saw it
objects/        the store of one region, copied after that moment: what its rows name was written before them
objects.jsonl   key, size, ETag and SHA-256 of each
"""

from typing import Final

from django.utils.crypto import salted_hmac

PARTS: Final = ("database", "objects")


def fingerprint() -> str:
    """Tells whether SECRET_KEY is another one, and nothing else about it: what is sealed opens with its own only."""
    return salted_hmac("anex.backups", "fingerprint", algorithm="sha256").hexdigest()[:16]
