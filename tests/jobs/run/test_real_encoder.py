"""An embedding job and a decision job on the real encoder, from the file to the charge."""

from collections.abc import Iterator

import pytest

from accounts.models import Organization
from anex.core.actors import system
from inference.backends import registry
from jobs.run.pump import Pump
from tests.inference.minilm.server import KEY, MiniLm, minilm, needs_model
from tests.jobs.run.test_pump import result
from tests.jobs.run.test_tasks import ANGER, TEAM, URGENT, decision, embedding, ended, quoted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, needs_model]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniLm]:
    with minilm(tmp_path_factory.mktemp("models")) as running:
        yield running


@pytest.fixture
def encoder(server: MiniLm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANEX_LOCAL_ENGINE_KEY", KEY)
    for model_id in ("minilm-l6-v2", "minilm-decide"):
        registry.configure(
            model_id=model_id,
            base_url=server.base_url,
            served_name=model_id,
            credential_env="ANEX_LOCAL_ENGINE_KEY",
            actor=system("test"),
        )


def test_texts_become_vectors_of_length_1_and_bill_their_exact_count(
    acme: Organization, encoder: None, pump: Pump
) -> None:
    texts = ["a cat sat on the mat", "a kitten was sitting on a rug", "quarterly tax statement"]
    lines = [embedding(f"row-{number}", text) for number, text in enumerate(texts)]
    job = ended(quoted(acme, "embed", lines, model_id="minilm-l6-v2"))
    bodies = [line["response"]["body"] for line in result(job)]
    cat, kitten, tax = (body["data"][0]["embedding"] for body in bodies)
    assert [len(vector) for vector in (cat, kitten, tax)] == [384, 384, 384]
    assert sum(number * number for number in cat) == pytest.approx(1)
    assert _dot(cat, kitten) > 0.5 > _dot(cat, tax)
    assert sum(body["usage"]["prompt_tokens"] for body in bodies) == job.est_input_tokens
    assert (job.success_rows, job.charge_cents) == (3, job.quote_cents)


def test_a_text_beyond_the_context_fails_the_job_before_it_is_paid(
    acme: Organization, encoder: None, pump: Pump
) -> None:
    lines = [embedding("fits", "word " * 254), embedding("long", "word " * 255)]
    job = quoted(acme, "embed", lines, model_id="minilm-l6-v2")
    assert (job.status, job.failure_code, job.failure_line) == ("failed", "invalid_input", 2)


def test_questions_are_answered_completely_and_a_refused_one_fails_its_row_alone(
    acme: Organization, encoder: None, pump: Pump
) -> None:
    state = {"body": "We were billed twice for March. Please refund it today."}
    crowded = TEAM | {"criteria": {f"option {number}": None for number in range(150)}}
    rows = [
        decision("whole", state, team=TEAM, urgent=URGENT, anger=ANGER),
        decision("crowded", state, q=crowded),
        decision("noul", state, q=URGENT | {"criteria": {"yes": "it is"}}),
    ]
    job = ended(quoted(acme, "decide", rows, model_id="minilm-decide"))
    whole, *refused = result(job)
    body = whole["response"]["body"]
    assert body["answers"]["team"]["choice"] == "billing"
    assert body["answers"]["anger"]["legend"] == {"0": "calm", "1": "annoyed", "2": "angry"}
    for answer in body["answers"].values():
        assert sum(answer["probabilities"].values()) == pytest.approx(1, abs=1e-12)
        assert 0 <= answer["confidence"] <= 1
        assert answer["answer_confidence"] == max(answer["probabilities"].values())
    assert body["routing"].keys() == {"model", "reason"}
    assert body["usage"]["output_tokens"] == 0
    assert 0 < body["usage"]["input_tokens"] < job.est_input_tokens
    assert [line["response"]["status_code"] for line in refused] == [400, 400]
    assert [line["error_type"] for line in refused] == ["invalid_request_error"] * 2
    assert "'q'" in refused[0]["error"] and "budget of 192" in refused[0]["error"]
    assert "keyed true and false, not yes" in refused[1]["error"]
    assert (job.success_rows, job.format_error_rows, job.error_rows) == (1, 2, 0)


def _dot(one: list[float], other: list[float]) -> float:
    return sum(left * right for left, right in zip(one, other, strict=True))
