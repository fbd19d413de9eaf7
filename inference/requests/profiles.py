"""What a row may say, as one table: in a native job (reference 001) and in an OpenAI batch (reference 000)."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RowProfile:
    """The rules in which the kinds of files differ; everything else about a row is the same.

    With `keeps_own_settings` a chat row's own output cap, sampling and `reasoning` count; without, they are the job's.
    `default_cap` is the output cap in tokens of a row that names none.
    """

    name: str
    max_line_bytes: int
    keeps_own_settings: bool = False
    checks_model: bool = False
    default_cap: int | None = None


NATIVE: Final = RowProfile(name="native", max_line_bytes=210_000_000)
OPENAI: Final = RowProfile(
    name="openai",
    max_line_bytes=32 * 1024 * 1024,
    keeps_own_settings=True,
    checks_model=True,
    default_cap=4096,
)
PROFILES: Final = {profile.name: profile for profile in (NATIVE, OPENAI)}
