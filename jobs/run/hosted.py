"""What the hosts of a job's clips told of them while it was priced, kept in the job's own folder of the store.

The rows are charged by it and, when their clips are fetched, held to it. Several workers may have asked: it counts what
the one was told that closed the chunk of the check, for the quote is made of that.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any
from uuid import UUID

import msgspec

from inference.media.lengths import Measured
from inference.media.parts import MediaPart
from jobs.models import Chunk
from jobs.run.claims import Claim
from jobs.storage import keys
from jobs.storage.interface import ObjectMissing, Store

Lengths = Mapping[str, Measured]


def name_of(part: MediaPart) -> str:
    """Under which a clip's length is kept: the same address may be read as audio and as video."""
    return f"{part.modality} {part.url}"


def store_lengths(store: Store, claim: Claim, lengths: Lengths) -> None:
    """Keep the lengths by `name_of` their clips, in place of those of an earlier check by the same worker."""
    key = keys.media_lengths(claim.job_id, claim.epoch)
    if lengths:
        store.put(key, msgspec.json.encode(lengths, enc_hook=str))
    else:
        store.delete([key])


def load_lengths(store: Store, job_id: UUID) -> Lengths:
    """The lengths that were kept; none where no host told any."""
    epoch = Chunk.objects.values_list("epoch", flat=True).get(job_id=job_id, kind=Chunk.Kind.VALIDATE)
    try:
        raw = store.read(keys.media_lengths(job_id, epoch or 0))
    except ObjectMissing:
        return {}
    return msgspec.json.decode(raw, type=dict[str, Measured], dec_hook=_fraction)


def _fraction(kind: type, text: Any) -> Fraction:
    return Fraction(text)
