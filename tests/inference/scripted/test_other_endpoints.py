"""Completions, embeddings, decisions, token counts and the small endpoints of the scripted engine."""

import base64
import json
import math
import struct

import pytest

QUESTIONS = {
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": "money", "other": None, "it": "x"},
    },
    "urgent": {"type": "noul", "instructions": "Is it urgent?"},
    "mood": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "annoyed", "angry"]},
}


def embed(ask, texts, **more):
    status, body = ask.post("/v1/embeddings", {"input": texts, **more})
    assert status == 200, body
    return body


def test_completion_is_the_same_streamed_or_not(ask):
    body = {"prompt": "Once upon", "max_tokens": 20, "seed": 3, "echo": True, "stream_options": {"include_usage": True}}
    status, whole = ask.post("/v1/completions", body)
    *chunks, last = ask.stream("/v1/completions", body)
    assert status == 200
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == whole["choices"][0]["text"]
    assert whole["choices"][0]["text"].startswith("Once upon")
    assert last["usage"] == whole["usage"]
    assert {chunk["id"] for chunk in chunks} == {whole["id"]}


def test_completion_is_bounded_and_carries_logprobs(ask):
    status, body = ask.post("/v1/completions", {"prompt": ["x [[tokens 50]]"], "max_tokens": 4, "logprobs": 2})
    [choice] = body["choices"]
    assert (status, choice["finish_reason"], body["usage"]["completion_tokens"]) == (200, "length", 4)
    assert "".join(choice["logprobs"]["tokens"]) == choice["text"]
    assert choice["logprobs"]["text_offset"] == [choice["text"].index(word) for word in choice["logprobs"]["tokens"]]
    assert all(len(tops) == 2 for tops in choice["logprobs"]["top_logprobs"])


@pytest.mark.parametrize("prompt", [None, ["a", "b"], [1, 2]])
def test_prompt_that_is_not_one_text_is_refused(ask, prompt):
    status, body = ask.post("/v1/completions", {"prompt": prompt})
    assert (status, body["error"]["param"]) == (400, "prompt")


@pytest.mark.parametrize("width", [None, 64])
def test_embedding_is_of_unit_length_and_the_same_in_both_encodings(ask, width):
    more = {"dimensions": width} if width else {}
    texts = ["first", "second text", "first"]
    plain = embed(ask, texts, **more)
    packed = embed(ask, texts, encoding_format="base64", **more)
    for entry, other in zip(plain["data"], packed["data"], strict=True):
        vector = entry["embedding"]
        assert len(vector) == (width or 384)
        assert math.isclose(math.hypot(*vector), 1, rel_tol=1e-6)
        assert list(struct.unpack(f"<{len(vector)}f", base64.b64decode(other["embedding"]))) == vector
    vectors = [entry["embedding"] for entry in plain["data"]]
    assert vectors[0] == vectors[2] != vectors[1]
    assert [entry["index"] for entry in plain["data"]] == [0, 1, 2]
    assert plain["usage"]["prompt_tokens"] == plain["usage"]["total_tokens"] == 4


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": []}, "input"),
        ({"input": [[1, 2]]}, "input"),
        ({"input": "x", "dimensions": 385}, "dimensions"),
        ({"input": "x", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "a " * 33_000}, "input_tokens"),
    ],
)
def test_wrong_embedding_request_is_refused_naming_the_field(ask, fields, param):
    status, body = ask.post("/v1/embeddings", fields)
    assert (status, body["error"]["param"]) == (400, param)


def test_every_question_is_answered_with_probabilities_that_sum_to_one(ask):
    request = {"state": {"body": "We were billed twice."}, "questions": QUESTIONS}
    status, body = ask.post("/v1/systemone", request)
    assert status == 200
    assert body == ask.post("/v1/systemone", request)[1]
    team, urgent, mood = (body["answers"][name] for name in QUESTIONS)
    assert math.isclose(sum(team["probabilities"].values()), 1)
    assert team["choice"] == max(team["probabilities"], key=team["probabilities"].get)
    assert list(team["probabilities"]) == ["billing", "other", "it"]
    assert urgent["confidence"] == max(urgent["noul"], 1 - urgent["noul"])
    assert math.isclose(sum(mood["probabilities"].values()), 1)
    assert math.isclose(mood["score"], sum(int(level) * chance for level, chance in mood["probabilities"].items()))
    assert mood["legend"] == {"0": "calm", "1": "annoyed", "2": "angry"}
    assert all(0 <= answer["confidence"] <= 1 for answer in (team, urgent, mood))


def test_state_is_counted_once_per_question(ask):
    questions = {str(index): {"type": "noul", "instructions": "Is it so"} for index in range(5)}
    _, body = ask.post("/v1/systemone", {"state": "three little words", "questions": questions})
    assert body["usage"] == {"input_tokens": 5 * (3 + 3 + 2), "output_tokens": 0}


def test_yes_or_no_question_takes_a_description_of_either_answer_or_both(ask):
    given = ({"true": "yes, today"}, {"false": "no"}, {"true": "yes", "false": "no"})
    questions = {
        str(index): {"type": "noul", "instructions": "Is it so", "criteria": criteria}
        for index, criteria in enumerate(given)
    }
    status, body = ask.post("/v1/systemone", {"state": "three little words", "questions": questions})
    assert (status, set(body["answers"])) == (200, set(questions))


@pytest.mark.parametrize(
    "question",
    [
        {"type": "essay", "instructions": "x"},
        {"type": "choice", "instructions": "x"},
        {"type": "choice", "instructions": "x", "criteria": ["a"]},
        {"type": "noul", "instructions": "x", "criteria": {"yes": "", "no": ""}},
        {"type": "score", "instructions": "x", "criteria": {}},
        {"type": "noul"},
        "x",
    ],
)
def test_question_that_cannot_be_answered_is_refused_by_name(ask, question):
    status, body = ask.post("/v1/systemone", {"state": "x", "questions": {"odd one": question}})
    assert status == 422
    assert "odd one" in body["error"]["message"]


def test_tokenize_counts_as_usage_does(ask):
    messages = [{"role": "user", "content": "Hi, you!"}]
    _, counted = ask.post("/tokenize", {"messages": messages})
    assert counted["count"] == ask.chat("", messages=messages)["usage"]["prompt_tokens"]
    assert ask.post("/tokenize", {"prompt": "Hi, you!"})[1]["count"] == 4


def test_small_endpoints_answer(ask):
    assert json.loads(ask.get("/health")) == {}
    assert json.loads(ask.get("/version"))["version"]
    assert [model["id"] for model in json.loads(ask.get("/v1/models"))["data"]] == ["scripted"]
    assert 'vllm:num_requests_running{engine="0"} 0' in ask.get("/metrics")
    assert json.loads(ask.get("/stats"))["in_flight"] == 0
