"""The figures that pages name, read from where the code keeps them: a page cannot say what the platform does not do."""

from typing import Any, Final

from django.conf import settings

from accounts.permissions import TABLE
from accounts.services import idempotency
from accounts.services import keys as key_services
from anex.docs import error_page, example_jobs, models, reference, site
from anex.docs.tables import cell, table
from inference.media import fetching
from inference.media.formats import FORMATS
from inference.requests import chat_request, embedding_request, sampling
from inference.requests.profiles import NATIVE, OPENAI, OPENAI_V1, V1
from jobs import tolerance, webhooks
from jobs.api.files.pace import Pace
from jobs.run.estimates import APPROVAL_WINDOW
from jobs.run.rows import PART_SECONDS
from jobs.run.scope import MAX_ROWS
from jobs.run.sending import ROW_SECONDS
from jobs.services import endings, endpoints, inputs, media, results, submissions, uploads
from jobs.urgency import SHARES
from realtime.admission import IN_FLIGHT
from realtime.http import BODY_S

_MIB: Final = 1024 * 1024


def gather() -> dict[str, Any]:
    """Everything a page may name: `limits`, `sample` (ids of models and addresses), and tables by name."""
    entries = models.listed()
    return {
        "limits": limits(),
        "sample": {
            "url": settings.ANEX_PUBLIC_URL,
            "chat": models.sample(entries, "chat"),
            "embed": models.sample(entries, "embed"),
            "decide": models.sample(entries, "decide"),
        },
        "eu_url": settings.ANEX_OTHER_REGION_URL,
        "region": settings.ANEX_REGION,
        "tables": _Tables(entries),
        "locations": site.locations() or "The operator of this installation has not said where its servers stand.",
        "formats": {kind: ", ".join(names) for kind, names in FORMATS.items()},
    }


def limits() -> dict[str, str]:
    """Figures of the code by name, with their thousands apart."""
    figures: dict[str, int] = {
        "rows": MAX_ROWS,
        "input_gib": inputs.MAX_INPUT_BYTES // 1024**3,
        "input_days": inputs.RETENTION.days,
        "upload_minutes": int(inputs.UPLOAD_WINDOW.total_seconds()) // 60,
        "result_days": endings.DATA_KEPT.days,
        "link_seconds": results.LINK_SECONDS,
        "waiting": submissions.MAX_WAITING,
        "validating": submissions.MAX_VALIDATING,
        "approval_hours": int(APPROVAL_WINDOW.total_seconds()) // 3600,
        "output": submissions.MAX_OUTPUT_TOKENS,
        "sample_rows": tolerance.SAMPLE_ROWS,
        "line_mb": NATIVE.max_line_bytes // 1_000_000,
        "batch_line_mib": OPENAI.max_line_bytes // _MIB,
        "batch_cap": OPENAI.default_cap or 0,
        "row_seconds": int(ROW_SECONDS),
        "part_seconds": int(PART_SECONDS),
        "uploads": uploads.PLACES,
        "upload_silence_s": int(Pace().silence_s),
        "upload_kib_s": Pace().bytes_per_s // 1024,
        "upload_most_minutes": int(Pace().limit_s) // 60,
        "in_flight": IN_FLIGHT,
        "body_mib": V1.max_body_bytes // _MIB,
        "second_body_mib": OPENAI_V1.max_body_bytes // _MIB,
        "body_seconds": int(BODY_S),
        "answer_seconds": V1.answer_s,
        "second_turn_seconds": OPENAI_V1.turn_s or 0,
        "kept_minutes": OPENAI_V1.keeps_answers_s // 60,
        "inputs": V1.most_inputs,
        "second_inputs": OPENAI_V1.most_inputs,
        "arrays": embedding_request.MOST_ARRAYS,
        "array_parts": embedding_request.MOST_PARTS,
        "characters": embedding_request.MOST_CHARACTERS,
        "characters_in_all": embedding_request.MOST_CHARACTERS_IN_ALL,
        "chat_images": chat_request.MOST_ITEMS["image"],
        "chat_audio": chat_request.MOST_ITEMS["audio"],
        "chat_video": chat_request.MOST_ITEMS["video"],
        "stops": sampling.MAX_STOPS,
        "media_mib": fetching.MOST_BYTES // _MIB,
        "media_seconds": int(fetching.MOST_SECONDS),
        "image_seconds": int(fetching.IMAGE_SECONDS),
        "picture_minutes": int(media.UPLOAD_WINDOW.total_seconds()) // 60,
        "picture_hours": int(media.LIFETIME.total_seconds()) // 3600,
        "endpoints": endpoints.MOST_ENDPOINTS,
        "attempts": webhooks.ATTEMPTS,
        "webhook_days": webhooks.PATIENCE.days,
        "webhook_overlap_hours": int(endpoints.OVERLAP.total_seconds()) // 3600,
        "key_overlap_days": key_services.MAX_OVERLAP.days,
        "idempotency_hours": int(idempotency.KEPT.total_seconds()) // 3600,
        "hour_share": SHARES["1h"],
        "json_mib": settings.DATA_UPLOAD_MAX_MEMORY_SIZE // _MIB,
    }
    rates = {"key_rate": settings.ANEX_KEY_RATE, "address_rate": settings.ANEX_ADDRESS_RATE}
    return {name: f"{figure:,}" for name, figure in figures.items()} | rates


class _Tables:
    """Tables of a page, each made only when a page asks for it."""

    def __init__(self, entries: list[models.Entry]) -> None:
        self._entries = entries

    def models(self) -> str:
        """Every model."""
        return models.model_table(self._entries)

    def prices(self) -> str:
        """Rates per million tokens."""
        return models.price_table(self._entries)

    def fees(self) -> str:
        """Per picture and clip."""
        return models.fee_table(self._entries)

    def minimums(self) -> str:
        """The least a job costs."""
        return models.minimum_table(self._entries)

    def examples(self) -> str:
        """What a few jobs cost."""
        return example_jobs.example_table(self._entries)

    def media(self) -> str:
        """What pictures and clips become."""
        return models.media_table(self._entries)

    def embeddings(self) -> str:
        """Widths of vectors."""
        return models.embedding_table(self._entries)

    def decisions(self) -> str:
        """What a decision model reads."""
        rows = (
            (f"`{e.model.id}`", f"{d.max_questions}", f"{d.max_state_characters:,}", f"{d.option_tokens}")
            for e in self._entries
            if (d := e.model.decisions)
        )
        return table(("model", "questions", "characters of a state", "tokens that a question's options share"), rows)

    def templates(self) -> str:
        """Chat templates."""
        return models.template_table(self._entries)

    def roles(self) -> str:
        """Who may do what."""
        rows = (
            (cell(rule.meaning), *("yes" if role in rule.roles else "–" for role in ("owner", "admin", "member")))
            for rule in TABLE
        )
        return table(("what", "owner", "admin", "member"), rows)

    def events(self) -> str:
        """What webhooks tell."""
        return table(("event", "when"), ((f"`{event}`", webhooks.MEANINGS[event]) for event in webhooks.EventType))

    def statuses(self) -> str:
        """Statuses of a job."""
        return table(("status", "what happens", "what to do"), _STATUSES)

    def reference(self) -> str:
        """Every call."""
        return reference.markdown(("inputs", "jobs"))

    def calls_at_once(self) -> str:
        """Calls that are answered at once."""
        return reference.markdown(("openai", "realtime", "openai-second"))

    def calls_of_files(self) -> str:
        """Files and batches."""
        return reference.markdown(("files", "batches"))

    def calls_of_accounts(self) -> str:
        """What a key may read."""
        return reference.markdown(("account",))

    def errors(self) -> str:
        """The catalogue of errors."""
        return error_page.body()


_STATUSES: Final = (
    ("`submitted`", "The job exists; a worker will look at its file.", "Wait."),
    ("`estimating`", "Every row is checked and counted; where you set no cap, a sample is run.", "Wait."),
    ("`cost_ready`", "The quote stands. Nothing has been charged.", "Approve within the window, or leave it."),
    (
        "`in_progress`",
        "The quote is held from your credits and the rows are run. A server may have to start first, so many minutes "
        "without a sign of rows are normal.",
        "Wait, pause or cancel.",
    ),
    ("`cancelling`", "No row is started any more; those that run finish.", "Wait."),
    ("`finalizing`", "The answers are put together in the order of the rows.", "Wait."),
    ("`done`", "Every row has a line in the result.", "Download it."),
    ("`failed`", "`failure_code` and `failure_reason` say why, and which row.", "Mend the file, submit again."),
    ("`cancelled`", "It was stopped, or its quote was never approved.", "Download what there is."),
)
