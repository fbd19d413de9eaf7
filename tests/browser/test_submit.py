"""A job from the browser: rows looked at before a byte is sent, the upload, a sample, a URL, and no JavaScript."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from accounts.models import Organization
from anex.core.actors import system
from inference.backends import registry
from jobs.models import Input, Job
from jobs.storage import store
from tests.browser.conftest import OpenPage
from tests.browser.looks import assert_accessible, assert_fits
from tests.factories import grant_credits, make_user

MODELS = ("scripted", "scripted-media", "scripted-embed", "scripted-decide")


@pytest.fixture
def new(owner: Page, acme: Organization) -> Page:
    """The page of a new job, of an owner with credits."""
    grant_credits(acme)
    for model in MODELS:
        registry.configure(model_id=model, base_url="http://127.0.0.1:9/v1", served_name=model, actor=system("tests"))
    owner.goto("/jobs/new")
    return owner


def chat(custom_id: str, content: object = "Name a river.", **more: object) -> str:
    body = {"messages": [{"role": "user", "content": content}]}
    row = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps(row | more)


def embedding(custom_id: str) -> str:
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": "/v1/embeddings", "body": {"input": "a river"}})


def pick(page: Page, *lines: str, name: str = "rows.jsonl") -> None:
    content = "\n".join(lines).encode()
    page.set_input_files("#file", files=[{"name": name, "mimeType": "application/jsonl", "buffer": content}])


def problems(page: Page) -> list[str]:
    expect(page.locator("[data-file-problems]")).to_be_visible()
    return page.locator("[data-file-problem] li").all_inner_texts()


PICTURE = [{"type": "image_url", "image_url": {"url": "https://pictures.example.com/a.png"}}]
WRONG = {
    "not JSON": (chat("a"), "{oops", "Line 2 is not valid JSON."),
    "twice": (chat("a"), chat("a"), "Line 2 repeats the custom_id “a” of line 1."),
    "no id": (chat(""), "Line 1 has no custom_id."),
    "another url": (chat("a", url="/v1/answers"), "Line 1 has no url of ours"),
    "no messages": (chat("a", body={}), "Line 1 has no messages"),
    "two kinds": (chat("a"), "", embedding("b"), "Line 3 is for /v1/embeddings"),
    "a mark": ("\ufeff" + chat("a"), "Line 1 begins with a byte order mark"),
    "a picture": (chat("a"), chat("b", PICTURE), "Line 2 carries image, which scripted does not read."),
}


def test_wrong_rows_are_named_by_line_before_anything_is_sent(new: Page) -> None:
    sent = []
    new.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    for rows in WRONG.values():
        *lines, said = rows
        new.get_by_label("scripted", exact=False).first.check()
        pick(new, *lines)
        expect(new.locator("[data-file-problem]")).to_contain_text(said)
        new.get_by_role("button", name="Upload and price").click()
        assert said in problems(new)[0]
    assert_accessible(new)
    assert sent == []
    assert not Input.objects.exists()


def test_rows_pick_a_model_that_reads_them_and_options_follow_the_model(new: Page) -> None:
    pick(new, *(embedding(f"row-{number}") for number in range(30)))
    expect(new.locator("[data-file-hint]")).to_contain_text("the first 20 rows are embeddings requests")
    expect(new.locator("input[name=model]:checked")).to_have_value("scripted-embed")
    expect(new.get_by_label("Dimensions")).to_be_visible()
    expect(new.get_by_label("Temperature")).to_be_hidden()
    new.locator("input[value=scripted]").check()
    assert "do" in problems(new)[0]
    expect(new.get_by_label("Temperature")).to_be_visible()
    expect(new.get_by_label("Dimensions")).to_be_hidden()
    new.locator("input[value=scripted-decide]").check()
    expect(new.get_by_role("heading", name="4. Options")).to_be_hidden()


def test_a_file_goes_to_the_store_with_its_progress_shown_and_becomes_a_job(new: Page) -> None:
    assert_accessible(new)
    lines = [chat(f"row-{number}") for number in range(500)]
    pick(new, *lines)
    new.get_by_label("Longest answer").fill("64")
    shown: list[str] = []
    new.expose_function("note", lambda text: shown.append(str(text)))
    new.evaluate(
        """() => {
          const bar = document.querySelector('[data-upload-percent]');
          new MutationObserver(() => window.note(bar.textContent)).observe(bar, {childList: true});
        }"""
    )
    new.get_by_role("button", name="Upload and price").click()
    new.wait_for_url("**/jobs/*-*")
    assert re.fullmatch(r"\d+ % of [\d.]+ kB", shown[-1])
    job = Job.objects.get()
    assert (job.model_id, job.requested_max_output_tokens) == ("scripted", 64)
    assert store().read(job.input.key) == "\n".join(lines).encode()


def test_an_upload_that_is_stopped_or_lost_can_be_tried_again(new: Page, watch: object) -> None:
    watch.expect("storage/upload")  # type: ignore[attr-defined]

    def hold(_: Route) -> None:
        """Nobody answers."""

    new.route("**/storage/upload", hold)
    pick(new, chat("a"))
    button = new.get_by_role("button", name="Upload and price")
    button.click()
    expect(new.get_by_role("progressbar", name="Upload")).to_be_visible()
    new.get_by_role("button", name="Stop").click()
    assert problems(new) == ["The upload was stopped."]
    new.unroute("**/storage/upload")
    new.route("**/storage/upload", lambda route: route.abort())
    button.click()
    expect(new.locator("[data-file-problem]")).to_contain_text("The connection was lost")
    new.unroute("**/storage/upload")
    button.click()
    new.wait_for_url("**/jobs/*-*")
    assert Job.objects.count() == 1


def test_a_copy_from_a_url_goes_on_to_its_price_by_itself(new: Page, acme: Organization) -> None:
    source = Input.objects.create(organization=acme, status="copying", key="inputs/copy.jsonl", created_by="user:1")
    new.goto(f"/jobs/new?input={source.pk}&model=scripted")
    expect(new.get_by_role("progressbar", name="Copying")).to_be_visible()
    assert_accessible(new)
    new.get_by_role("button", name="Upload and price").click()
    expect(new.get_by_text("is being copied")).to_be_visible()
    stored = store().put(source.key, chat("a").encode())
    Input.objects.update(status="ready", etag=stored.etag, size_bytes=stored.size)
    new.wait_for_url("**/jobs/*-*")
    assert Job.objects.get().input_id == source.pk


def test_without_javascript_a_sample_or_a_file_becomes_a_job(new: Page, open_page: OpenPage, tmp_path: Path) -> None:
    plain = open_page(make_user("ada"), javascript=False)
    plain.goto("/jobs/new")
    plain.get_by_role("button", name="8 texts to decide about").click()
    expect(plain.get_by_text("Your file is here")).to_be_visible()
    expect(plain.locator("input[name=model]:checked")).to_have_value("scripted-decide")
    plain.get_by_role("button", name="Price the job").click()
    assert re.search(r"/jobs/[0-9a-f-]{36}$", plain.url)
    plain.goto("/jobs/new")
    plain.locator("noscript button[value=jsonl]").click()
    (tmp_path / "rows.jsonl").write_text(chat("mine"))
    plain.set_input_files("#file", tmp_path / "rows.jsonl")
    plain.get_by_role("button", name="Upload", exact=True).click()
    plain.wait_for_url("**/jobs/new?input=**")
    expect(plain.get_by_text("Your file is here")).to_be_visible()
    plain.get_by_role("button", name="Price the job").click()
    assert [job.model_id for job in Job.objects.order_by("created_at")] == ["scripted-decide", "scripted"]


def test_the_page_fits_a_phone(new: Page, open_page: OpenPage) -> None:
    phone = open_page(make_user("ada"), phone=True)
    for path in ("/jobs/new", "/dashboard"):
        phone.goto(path)
        assert_fits(phone)
