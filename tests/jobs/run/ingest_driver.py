"""Makes and runs copies from a URL one by one, in this process, as a pump would."""

from accounts.models import Organization
from anex.core import clock
from anex.core.actors import system
from jobs.models import Ingest, Input
from jobs.run import ingests
from jobs.run.ingests import IngestClaim
from jobs.services import ingests as service
from jobs.storage import store
from tests import https
from tests.jobs.run.driver import HandLease


def ingest(organization: Organization, url: str, **options) -> tuple[Input, str | None]:
    made, secret = service.create(organization_id=organization.pk, source_url=url, actor=system("test"), **options)
    return made, secret


def claim(lease: HandLease, *held: int) -> IngestClaim | None:
    return ingests.claim(lease, region="world", held=held)  # type: ignore[arg-type]


def copied(made: Input, lease: HandLease) -> Input:
    found = claim(lease)
    assert found is not None
    ingests.run(found)
    made.refresh_from_db()
    return made


def objects_of(made: Input) -> set[str]:
    return {stored.key for stored in store().list(f"inputs/{made.organization_id}/")}


def due_now(made: Input) -> None:
    Ingest.objects.filter(input=made).update(due_at=clock.now())


def hooks(source: https.Server) -> list[https.Request]:
    return [request for request in source.requests if request.path == "/hook"]
