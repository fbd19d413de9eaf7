"""The playground in a browser: streamed, stopped, priced by the books, and the code beside it says what was sent."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from accounts.models import ApiKey, Organization
from anex.core.actors import system
from anex.core.money import format_dollars
from billing.models import UsageRecord
from inference.backends import registry
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.browser.site import Site
from tests.factories import grant_credits, make_key, make_user
from tests.inference.scripted_server import ScriptedServer, scripted_server

MODELS = ("scripted", "scripted-embed", "scripted-decide")


@pytest.fixture(scope="module")
def talking() -> Iterator[ScriptedServer]:
    with scripted_server() as running:
        yield running


@pytest.fixture
def asking(owner: Page, acme: Organization, talking: ScriptedServer) -> Page:
    """The page of an owner with credits, once the web process has heard of the models."""
    grant_credits(acme)
    for model in MODELS:
        registry.configure(model_id=model, base_url=talking.base_url, served_name=model, actor=system("tests"))
    deadline = time.monotonic() + 60
    while "scripted-embed" not in owner.request.get("/v1/models").text():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return owner


def say(page: Page, text: str) -> None:
    page.get_by_label("Your message", exact=True).fill(text)
    page.keyboard.press("Enter")


def facts(page: Page) -> str:
    """What stands under the last answer, once it is there."""
    last = page.locator("[data-facts]").last
    expect(last).to_contain_text("$")
    return last.inner_text()


def shown(page: Page, language: str) -> str:
    """The code of a language, which the page hides behind its tab."""
    return str(page.locator(f"#code-{language}").text_content())


def sent(request: Request) -> object:
    return json.loads(request.post_data or "null")


def body_of_curl(code: str) -> object:
    return json.loads(code.partition("-d '")[2].removesuffix("'").replace("'\\''", "'"))


def run(command: list[str], secret: str, code: str = "") -> str:
    environment = {"PATH": os.environ["PATH"], "ANEX_API_KEY": secret}
    done = subprocess.run(command, input=code, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_chat_is_streamed_and_its_cost_is_that_of_the_books(asking: Page, acme: Organization, site: Site) -> None:
    asking.goto("/playground")
    assert_accessible(asking)
    asking.get_by_label("Temperature").fill("0.5")
    with asking.expect_request("**/v1/chat/completions") as first:
        say(asking, "It's one, two and three [[pace 20]]")
    told = facts(asking)
    record = UsageRecord.objects.get()
    assert f"{record.input_tokens} tokens in, {record.output_tokens} out" in told
    assert told.endswith(format_dollars(record.amount_nano))
    assert re.search(r"first token after [\d.]+ s · [\d.]+ tokens/s", told)
    assert ApiKey.objects.get(pk=record.key_id).for_playground
    secret = first.value.headers["authorization"].removeprefix("Bearer ")
    assert secret not in asking.content()
    assert secret not in asking.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    with asking.expect_request("**/v1/chat/completions") as second:
        say(asking, "And then? [[pace 20]]")
    messages = json.loads(second.value.post_data or "")["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"] == asking.locator("[data-text]").nth(1).inner_text()
    facts(asking)
    assert_accessible(asking)


def test_an_answer_is_stopped_and_what_was_written_is_charged(asking: Page) -> None:
    asking.goto("/playground")
    say(asking, "a long tale [[pace 100]] " + "word " * 60)
    expect(asking.locator("[data-text]").last).not_to_be_empty()
    asking.keyboard.press("Escape")
    expect(asking.locator("[data-said]")).to_have_text("Stopped.")
    told = facts(asking)
    record = UsageRecord.objects.get()
    assert record.status == "left"
    assert told.endswith(format_dollars(record.amount_nano))


def test_what_the_server_refuses_is_said_in_its_words(asking: Page, watch: object) -> None:
    watch.expect("status of 400")  # type: ignore[attr-defined]
    asking.goto("/playground")
    asking.get_by_text("More parameters").click()
    asking.get_by_label("Stop at").fill("1\n2\n3\n4\n5")
    say(asking, "hi")
    expect(asking.get_by_role("alert")).to_contain_text("stop")
    expect(asking.get_by_label("Your message", exact=True)).to_have_value("hi")
    assert not UsageRecord.objects.exists()


def test_the_code_is_the_request_and_runs(asking: Page, acme: Organization, site: Site) -> None:
    secret = make_key(acme).secret
    asking.goto("/playground")
    asking.get_by_text("More parameters").click()
    asking.get_by_label("Top k").fill("5")
    asking.get_by_label("Thinking").select_option("off")
    with asking.expect_request("**/v1/chat/completions") as request:
        asking.get_by_label("Your message", exact=True).fill('It\'s a "test" of\nlines')
        code = {language: shown(asking, language) for language in ("curl", "python", "javascript")}
        asking.keyboard.press("Enter")
    facts(asking)
    assert body_of_curl(code["curl"]) == body_of_curl(shown(asking, "curl")) == sent(request.value)
    answered = asking.locator("[data-text]").nth(1).inner_text()
    assert answered.split() == run([sys.executable, "-"], secret, code["python"]).split()
    assert answered.split() == run(["node", "--input-type=module", "-"], secret, code["javascript"]).split()
    assert "[DONE]" in run(["bash"], secret, code["curl"])


def test_texts_are_compared(asking: Page, acme: Organization) -> None:
    asking.goto("/playground/embeddings")
    asking.get_by_role("button", name="Add a text").click()
    asking.get_by_label("Text 4").fill("The soup is still hot.")
    with asking.expect_request("**/v1/embeddings") as request:
        asking.get_by_role("button", name="Compare").click()
    row = asking.get_by_role("row", name="Text 4").last
    expect(row.get_by_role("cell").nth(2)).to_have_text("1.000")
    facts(asking)
    assert body_of_curl(shown(asking, "curl")) == sent(request.value)
    assert_accessible(asking)
    vectors = json.loads(run([sys.executable, "-"], make_key(acme).secret, shown(asking, "python")))
    assert len(vectors["data"]) == 4


def test_decisions_are_bars(asking: Page, acme: Organization) -> None:
    asking.goto("/playground/decisions")
    asking.get_by_role("button", name="Add a question").click()
    last = asking.locator("[data-question]").last
    last.get_by_label("Name").fill("refund")
    last.get_by_label("Kind").select_option("noul")
    last.get_by_label("What is asked").fill("Is money asked back?")
    with asking.expect_request("**/v1/systemone") as request:
        asking.get_by_role("button", name="Ask", exact=True).click()
    table = asking.get_by_role("table", name=re.compile("team"))
    expect(table.get_by_role("progressbar", name="billing")).to_be_visible()
    shares = [float(text.removesuffix(" %")) for text in table.locator("[data-share]").all_inner_texts()]
    assert abs(sum(shares) - 100) < 0.3
    facts(asking)
    assert body_of_curl(shown(asking, "curl")) == sent(request.value)
    assert_accessible(asking)
    secret = make_key(acme).secret
    assert "answers" in run([sys.executable, "-"], secret, shown(asking, "python"))
    assert "answers" in run(["node", "--input-type=module", "-"], secret, shown(asking, "javascript"))


def test_another_model_brings_its_own_parameters(asking: Page) -> None:
    registry.configure(
        model_id="smollm2-135m-instruct", base_url="http://127.0.0.1:9/v1", served_name="s", actor=system("tests")
    )
    asking.goto("/playground")
    asking.get_by_label("Model", exact=True).select_option("scripted")
    asking.get_by_label("Temperature").fill("0.25")
    expect(asking.get_by_label("Repetition penalty")).to_be_attached()
    asking.get_by_label("Model", exact=True).select_option("smollm2-135m-instruct")
    expect(asking.get_by_label("Repetition penalty")).to_have_count(0)
    expect(asking.get_by_label("Temperature")).to_have_value("0.25")
    assert '"smollm2-135m-instruct"' in shown(asking, "curl")


def test_the_playground_is_read_without_javascript_and_on_a_phone(open_page: OpenPage, asking: Page) -> None:
    plain = open_page(make_user("ada"), javascript=False)
    plain.goto("/playground")
    assert plain.locator("noscript .alert").is_visible()
    assert plain.get_by_role("button", name="Send").is_disabled()
    assert '"model": "scripted"' in plain.locator("#code-curl").inner_text()
    phone = open_page(make_user("ada"), phone=True)
    for path in ("/playground", "/playground/embeddings", "/playground/decisions"):
        phone.goto(path)
        assert_fits(phone)
