"""What every chunk of a job needs to know, read once: model, options, prices and the pinned input.

The input of a parquet job is what was made of its file (`conversion`)."""

from dataclasses import dataclass, field
from uuid import UUID

from accounts.selectors import plans
from billing import pricing
from inference import catalogue
from inference.requests.options import RowOptions
from jobs import storage
from jobs.models import Job
from jobs.run import hosted
from jobs.selectors import contents
from jobs.storage.interface import Store


@dataclass(frozen=True, slots=True)
class Context:
    """A job as the runner sees it; `output_cap` in tokens per row, `card` None until the job is quoted.

    `lengths` is what hosts told of its clips.
    """

    job_id: UUID
    region: str
    model: catalogue.Model
    options: RowOptions
    output_cap: int
    card: pricing.PriceCard | None
    input_key: str
    input_etag: str
    input_bytes: int
    store: Store
    lengths: hosted.Lengths = field(default_factory=dict)


def load(job_id: UUID) -> Context:
    """Read a job's context; the cap is the job's own, or the most its longest row leaves room for."""
    job = Job.objects.select_related("input").get(pk=job_id)
    model = catalogue.get(job.model_id)
    if model is None:
        raise LookupError(f"model {job.model_id} is no longer in the catalogue")
    store = storage.store(job.region)
    return Context(
        job_id=job.id,
        region=job.region,
        model=model,
        options=contents.row_options(job),
        output_cap=job.max_output_tokens or room_for_output(model, job),
        card=pricing.PriceCard.thaw(job.prices) if job.prices else None,
        input_key=job.rows_key or job.input.key,
        input_etag=job.rows_etag or job.input.etag,
        input_bytes=(job.rows_bytes if job.rows_key else job.input.size_bytes) or 0,
        store=store,
        lengths=hosted.load_lengths(store, job.id) if job.media_rows else {},
    )


def room_for_output(model: catalogue.Model, job: Job) -> int:
    """The most tokens each row can answer with: what model and plan allow, within what the longest row leaves.

    What a row takes is counted against the model's own context, also where its media widens it (`fitting.taken`).
    """
    left = model.context_tokens - (job.longest_row_tokens or 0)
    return max(0, plans.of(job.organization_id).cap(min(model.max_output_tokens or 0, left)))
