"""Forms no person fills in: each comes back with a sentence, none is an error of ours."""

import pytest

from inference.models import Backend
from jobs.models import Job
from tests.console import scenes
from tests.factories import grant_credits


@pytest.mark.parametrize(
    "schema",
    ["[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000, "9" * 5_000, "NaN", '"\\ud800"', '{"type": 1e999}'],
    ids=lambda text: ascii(text[:12]),
)
def test_a_schema_that_no_parser_should_take_is_refused(ada, acme, schema):
    grant_credits(acme, 500)
    Backend.objects.create(
        model_id=scenes.MODEL, base_url="http://127.0.0.1:9/v1", served_name="small", source="configured"
    )
    ada.raise_request_exception = False
    input_id = ada.post("/jobs/new/upload").json()["input_id"]
    fields = {"input_id": input_id, "model": scenes.MODEL, "response_format": schema}
    answer = ada.post("/jobs/new", fields)
    assert answer.status_code == 400
    assert "response_format" in answer.context["form"].errors
    assert not Job.objects.exists()
