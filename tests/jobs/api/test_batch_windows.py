"""`completion_window` of POST /v1/batches: a price and a share beyond reference 000, and no end."""

import msgspec

from anex.core.actors import system
from billing import price_cards
from inference.backends import registry
from jobs.models import Job
from tests.contract.described import judged
from tests.jobs import batches


def test_a_shorter_window_is_a_price_and_a_turn_but_no_earlier_end(api, acme, monkeypatch):
    registry.configure(
        model_id="scripted", base_url="http://127.0.0.1:9/v1", served_name="scripted", actor=system("tests")
    )
    file = batches.upload(acme, batches.line("a"))
    body = {"input_file_id": f"file-{file.pk.hex}", "endpoint": batches.ENDPOINT, "completion_window": "1h"}
    made = api.post("/v1/batches", body, format="json")
    assert judged("createBatch", made) == 200
    shown = made.json()
    job = Job.objects.get()
    assert (shown["completion_window"], job.completion_window, job.share) == ("1h", "1h", 4)
    assert shown["expires_at"] - shown["created_at"] == 24 * 3600
    card = msgspec.structs.replace(price_cards.current("scripted"), windows={})
    monkeypatch.setattr("billing.price_cards.current", lambda _: card)
    refused = api.post("/v1/batches", body, format="json")
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["param"] == "completion_window"
    assert "not offered with completion_window 1h" in error["message"]
