"""What developers read: the description as a file, and a reader that loads nothing from elsewhere."""

import json
import re

import pytest
import yaml
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client

from inference import catalogue
from inference.requests.rows import RowOptions, parse


@pytest.fixture
def anybody() -> Client:
    return Client()


def test_json_and_yaml_say_the_same_to_anybody(anybody: Client) -> None:
    as_json, as_yaml = anybody.get("/openapi.json"), anybody.get("/openapi.yaml")
    assert (as_json["Content-Type"], as_yaml["Content-Type"]) == ("application/json", "application/yaml")
    assert json.loads(as_json.content) == yaml.safe_load(as_yaml.content)
    assert as_json["Access-Control-Allow-Origin"] == "*"


def test_reader_loads_everything_from_here(anybody: Client) -> None:
    page = anybody.get("/docs/api/try")
    loaded = re.findall(r'<(?:link|script|img) [^>]*?(?:src|href)="([^"]+)"', page.content.decode())
    assert loaded
    assert all(name.startswith("/static/") and finders.find(name.removeprefix("/static/")) for name in loaded)
    assert "<script>" not in page.content.decode()
    assert "script-src" not in page["Content-Security-Policy"]
    assert "'unsafe-inline'" in page["Content-Security-Policy"]


def test_description_shows_a_row_of_every_task_that_is_taken():
    (block,) = re.findall(r"```json\n(.*?)```", settings.SPECTACULAR_SETTINGS["DESCRIPTION"], re.DOTALL)
    models = ("qwen3-14b", "qwen3-embedding-8b", "laya")
    rows = [
        parse(line.encode(), model=catalogue.get(name), options=RowOptions())
        for line, name in zip(block.splitlines(), models, strict=True)
    ]
    assert [row.custom_id for row in rows] == ["completions", "embeddings", "systemone"]
