"""Codes that pages and the batch API's details do not show, each provoked where it is raised."""

import pytest

from accounts.services import freezes
from anex.core.actors import system
from anex.core.error_catalogue import CATALOGUE
from anex.core.errors import AnexError
from billing import amounts
from billing.gateways.interface import Order
from billing.gateways.local import DECLINING, Local
from jobs.models import Input
from jobs.services import submissions
from jobs.services.inputs import for_job
from tests.factories import make_input, make_organization


@pytest.mark.django_db
def test_each_has_the_status_of_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    acme = make_organization()
    monkeypatch.setattr(submissions, "MAX_WAITING", 0)
    waiting = make_input(acme, status=Input.State.AWAITING_UPLOAD, size_bytes=None)
    order = Order(acme.pk, acme.pk, 500, "", "")
    provoked = {
        "amount_out_of_range": lambda: amounts.check(0),
        "approval_queue_full": lambda: submissions._refuse_full_queue(acme.pk, of_batches=False),
        "conflict": lambda: freezes.switch(surface="batch", frozen=False, actor=system("tests"), reason="again"),
        "input_not_ready": lambda: for_job(organization_id=acme.pk, region="world", input_id=waiting.pk),
        "invalid_signature": lambda: Local().read_event(b"{}", "t=1,v1=0"),
        "payment_declined": lambda: Local().charge_saved(order, customer="", method=DECLINING),
    }
    for code, provoke in provoked.items():
        with pytest.raises(AnexError) as refusal:
            provoke()
        assert (refusal.value.code, refusal.value.status) == (code, CATALOGUE[code].status)
