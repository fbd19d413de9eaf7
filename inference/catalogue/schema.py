"""The shape of a catalogue file. Unknown fields are refused; a fact nobody published is left out and reads as null."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

Modality = Literal["text", "image", "audio", "video"]
Task = Literal["chat", "embed", "decide"]
Reasoning = Literal["none", "toggle", "budget", "effort"]
Region = Literal["world", "eu"]

# Far above any model; an infinite rate, which YAML can write, would break what is counted with it.
Count = Annotated[int, Meta(ge=1, le=10**9)]
Rate = Annotated[float, Meta(gt=0, le=10**6)]
Name = Annotated[str, Meta(min_length=1)]


class PackagedWeights(Struct, frozen=True, forbid_unknown_fields=True, tag_field="source", tag="package"):
    """A weight file carried by an installed Python distribution."""

    distribution: Name
    file: Name
    license: Name


class HubWeights(Struct, frozen=True, forbid_unknown_fields=True, tag_field="source", tag="hub"):
    """A published checkpoint, e.g. `organization/name`, at a pinned revision."""

    repository: Name
    revision: str | None = None
    precision: str | None = None
    license: str | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """Where the files a model is counted with are; None for one that is not there."""

    tokenizer: Path | None = None
    tokenizer_config: Path | None = None
    chat_template: Path | None = None


class ChatTemplate(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the file of the chat template was copied from: an address or a weight file, and its pinned commit."""

    source: Name
    commit: str | None = None


class Images(Struct, frozen=True, forbid_unknown_fields=True):
    """Images in a row: tokens at most per image, inline size in decimal megabytes, images per row."""

    max_inline_mb: Count
    max_tokens: Count | None = None
    max_per_row: Count | None = None


class Audio(Struct, frozen=True, forbid_unknown_fields=True):
    """Audio clips in a row: longest clip, tokens per second of it, inline size in decimal megabytes."""

    max_seconds: Count
    tokens_per_second: Rate
    max_inline_mb: Count


class Video(Struct, frozen=True, forbid_unknown_fields=True):
    """Video clips in a row. `max_fps` is null where no sampling rate can be asked for; frames have `max_pixels`."""

    default_fps: Rate
    max_inline_mb: Count
    max_seconds: Count | None = None
    max_fps: Rate | None = None
    tokens_per_frame: Count | None = None
    max_pixels: Count | None = None
    min_frames: Count = 2
    max_frames: Count | None = None
    max_per_row: Count | None = None


class Media(Struct, frozen=True, forbid_unknown_fields=True):
    """What a model takes besides text."""

    image: Images | None = None
    audio: Audio | None = None
    video: Video | None = None


class Embedding(Struct, frozen=True, forbid_unknown_fields=True):
    """Vector widths: the native one and the narrowest that can be asked for."""

    dimensions: Count
    min_dimensions: Count

    def __post_init__(self) -> None:
        if self.min_dimensions > self.dimensions:
            raise ValueError("min_dimensions is above dimensions")


class Decisions(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a decision model. `checkpoints` are the windows, in tokens, of the weights it chooses from per text."""

    max_questions: Count
    max_state_characters: Count
    option_tokens: Count
    checkpoints: dict[Name, Count]

    @property
    def widest(self) -> int:
        """The widest window, in tokens."""
        return max(self.checkpoints.values(), default=0)


class Realtime(Struct, frozen=True, forbid_unknown_fields=True):
    """How a model is offered to requests that are answered at once.

    `surfaces`: `openai` is the OpenAI-compatible host, `native` the realtime API. `parameters` are those of the OpenAI
    surface that the model takes. `concurrency` is requests at a time, null where unknown. `takes_budget` is false where
    thinking can be capped in jobs only. `keeps_called_tools`: under tool_choice none the tools stay in the prompt once
    messages hold a call or a result; else they are always left out. `max_url_mib` is the largest item fetched from a
    URL, by modality.
    """

    surfaces: Annotated[tuple[Literal["openai", "native"], ...], Meta(min_length=1)]
    concurrency: Count | None = None
    parameters: tuple[Name, ...] = ()
    takes_budget: bool = False
    keeps_called_tools: bool = False
    max_url_mib: dict[Modality, Count] = {}


class Model(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model. Token figures count tokens of its own tokenizer; `context_tokens` holds input and output together.

    `reasoning` grows: `toggle` can be switched on and off, `budget` can also be capped, `effort` also has levels.
    `visual_context_tokens` replaces the context of rows that carry images or video. `tokenizer` says how input is
    counted: from its own files (`file`), from the weight file (`gguf`), by the server that answers (`server`), by words
    (`words`), or not at all. A model with an `organization` is served to that one only. `replaces` says that the file
    takes the place of the one of the same id that ships with the platform. `files` is no fact of the YAML: they are
    found when it is read, and go with the model into processes that know no folders.
    """

    id: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{0,63}$")]
    task: Task
    inputs: tuple[Modality, ...] = ("text",)
    context_tokens: Count
    visual_context_tokens: Count | None = None
    max_output_tokens: Count | None = None
    reasoning: Reasoning = "none"
    reasoning_default: bool | None = None
    effort_levels: tuple[Name, ...] = ()
    default_effort: str | None = None
    tokenizer: Literal["file", "gguf", "words", "server"] | None = None
    chat_template: ChatTemplate | None = None
    weights: PackagedWeights | HubWeights | None = None
    media: Media | None = None
    embedding: Embedding | None = None
    decisions: Decisions | None = None
    realtime: Realtime | None = None
    regions: Annotated[tuple[Region, ...], Meta(min_length=1)] = ("world", "eu")
    organization: UUID | None = None
    replaces: bool = False
    files: Files = Files()

    def __post_init__(self) -> None:
        for broken, sentence in self._contradictions():
            if broken:
                raise ValueError(sentence)

    def _contradictions(self) -> tuple[tuple[bool, str], ...]:
        media = {kind for kind in ("image", "audio", "video") if self.media and getattr(self.media, kind)}
        return (
            ("text" not in self.inputs, "inputs must name text"),
            (media != set(self.inputs) - {"text"}, "media must describe exactly the inputs besides text"),
            ((self.task == "chat") != (self.max_output_tokens is not None), "max_output_tokens belongs to chat models"),
            ((self.task == "embed") != (self.embedding is not None), "embedding belongs to embed models"),
            ((self.task == "decide") != (self.decisions is not None), "decisions belongs to decide models"),
            (self.task != "chat" and self.reasoning != "none", "reasoning belongs to chat models"),
            ((self.reasoning == "effort") != bool(self.effort_levels), "effort_levels belongs to reasoning: effort"),
            (
                self.default_effort is not None and self.default_effort not in self.effort_levels,
                "default_effort is not one of effort_levels",
            ),
            (
                self.tokenizer == "gguf" and not isinstance(self.weights, PackagedWeights),
                "tokenizer: gguf needs weights from a package",
            ),
            (
                self.decisions is not None and self.decisions.widest != self.context_tokens,
                "context_tokens is the widest window of decisions.checkpoints",
            ),
        )

    def is_for(self, organization_id: UUID) -> bool:
        """Whether an organization may know of the model: a custom model exists for its own organization only."""
        return self.organization in (None, organization_id)

    @property
    def countable(self) -> bool:
        """Whether its input can be counted exactly: the half of being offered that the catalogue knows.

        The other half, a live server, is the registry's.
        """
        return self.tokenizer is not None

    @property
    def takes_budget(self) -> bool:
        """Whether thinking can be capped."""
        return self.reasoning in ("budget", "effort")
