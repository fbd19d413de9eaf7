"""Where rules differ, as two tables: for rows of native jobs (001) and OpenAI batches (000), and for single requests.

Nothing else branches on the kind of a file or on the surface of a request.
"""

from dataclasses import dataclass
from typing import Final, Literal

from anex.core.errors import AnexError, InsufficientQuota, InvalidRequest, PaymentRequired, Unprocessable

EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh")


@dataclass(frozen=True, slots=True)
class RowProfile:
    """The rules in which the kinds of files differ; everything else about a row is the same.

    With `keeps_own_settings` a chat row's own output cap, sampling and `reasoning` count; without, they are the job's.
    With `takes_protocols` a chat row may be asked in each of OpenAI's text protocols, which its url names.
    `default_cap` is the output cap in tokens of a row that names none.
    """

    name: str
    max_line_bytes: int
    keeps_own_settings: bool = False
    checks_model: bool = False
    takes_protocols: bool = False
    default_cap: int | None = None


NATIVE: Final = RowProfile(name="native", max_line_bytes=210_000_000)
OPENAI: Final = RowProfile(
    name="openai",
    max_line_bytes=32 * 1024 * 1024,
    keeps_own_settings=True,
    checks_model=True,
    takes_protocols=True,
    default_cap=4096,
)
PROFILES: Final = {profile.name: profile for profile in (NATIVE, OPENAI)}


@dataclass(frozen=True, slots=True)
class Profile:
    """A column of the table of surfaces: the rules in which paths that answer single requests differ.

    `offered_as` is the word for it in a model's `realtime.surfaces`. `misshapen` answers a field that is missing or of
    another type than the surface describes, `unpaid` a balance that does not cover the request. Without
    `refuses_unknown` fields that nobody described are ignored; with `names_ignored` the answer says which. With
    `names_faults` a refusal has the code of its fault, without it the one of all malformed requests. `takes_media` says
    that content may hold media, `takes_inline` that it may be in the body. `cuts_states` tells that a decision's state
    is cut to the model's window, not refused. `reads_levels` reads the effort behind a model's name, and takes a word
    for it that the model lacks as its nearest. `lowers_caps` takes an output cap above the model's as the model's.
    `takes_custom` reads tools in both of OpenAI's spellings, custom ones too, and bounds their names and schemas.

    With `keeps_promises` a forced call that was not made and a form that was not kept are 422, and thinking written
    into an answer, or sent back for a question that is settled, is no part of it.

    With `obeys_plans` a plan bounds how much of a conversation is sent on, and one under which nothing is answered at
    once refuses every request.

    A chat ends after `turn_s` seconds as by its cap; None for no such end. What is not streamed ends after `answer_s`
    seconds; with `commits_early` its head is sent while it is awaited. `derives_keys` gives a request without an
    idempotency key one of its own. What a key answered is kept for `keeps_answers_s` seconds, 0 for not at all.
    `tells_charge` names the job in every answer, and in those that are not streamed what it cost.
    """

    name: str
    offered_as: Literal["openai", "native"]
    misshapen: type[AnexError]
    refuses_unknown: bool
    takes_media: bool
    cuts_states: bool
    names_ignored: bool = False
    names_faults: bool = False
    takes_inline: bool = True
    reads_levels: bool = False
    lowers_caps: bool = False
    takes_custom: bool = False
    keeps_promises: bool = False
    unpaid: type[AnexError] = PaymentRequired
    efforts: tuple[str, ...] = EFFORTS
    most_inputs: int = 128
    max_body_bytes: int = 32 * 1024 * 1024
    turn_s: int | None = None
    answer_s: int = 280
    obeys_plans: bool = False
    commits_early: bool = False
    derives_keys: bool = False
    tells_charge: bool = False
    keeps_answers_s: int = 0


V1: Final = Profile(
    name="/v1",
    offered_as="openai",
    misshapen=InvalidRequest,
    refuses_unknown=True,
    takes_media=True,
    cuts_states=False,
)
OPENAI_V1: Final = Profile(
    name="/openai/v1",
    offered_as="openai",
    misshapen=InvalidRequest,
    refuses_unknown=False,
    takes_media=True,
    cuts_states=False,
    names_ignored=True,
    names_faults=True,
    takes_inline=False,
    reads_levels=True,
    lowers_caps=True,
    takes_custom=True,
    keeps_promises=True,
    unpaid=InsufficientQuota,
    efforts=(*EFFORTS, "max", "light", "balanced", "deep"),
    most_inputs=2048,
    max_body_bytes=1024 * 1024,
    turn_s=800,
    obeys_plans=True,
    commits_early=True,
    derives_keys=True,
    tells_charge=True,
    keeps_answers_s=600,
)
REALTIME_V1: Final = Profile(
    name="/realtime/v1",
    offered_as="native",
    misshapen=Unprocessable,
    refuses_unknown=False,
    takes_media=False,
    cuts_states=True,
)
SURFACES: Final = {profile.name: profile for profile in (V1, OPENAI_V1, REALTIME_V1)}
