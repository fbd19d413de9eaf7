"""What the hosts of a job's clips told of them while it was priced, kept in the job's own folder of the store.

The rows are charged by it and, when their clips are fetched, held to it.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from uuid import UUID

import msgspec

from inference.media.lengths import Measured
from inference.media.parts import MediaPart
from jobs.storage import keys
from jobs.storage.interface import ObjectMissing, Store

Lengths = Mapping[str, Measured]


def name_of(part: MediaPart) -> str:
    """Under which a clip's length is kept: the same address may be read as audio and as video."""
    return f"{part.modality} {part.url}"


def store_lengths(store: Store, job_id: UUID, lengths: Lengths) -> None:
    """Keep the lengths by `name_of` their clips."""
    store.put(keys.media_lengths(job_id), msgspec.json.encode(lengths, enc_hook=str))


def load_lengths(store: Store, job_id: UUID) -> Lengths:
    """The lengths that were kept; none where no host told any."""
    try:
        raw = store.read(keys.media_lengths(job_id))
    except ObjectMissing:
        return {}
    return msgspec.json.decode(raw, type=dict[str, Measured], dec_hook=_fraction)


def _fraction(kind: type, text: Any) -> Fraction:
    return Fraction(text)
