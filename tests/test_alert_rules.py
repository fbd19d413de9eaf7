"""The example alert rules and dashboard in deploy/: every expression is PromQL, every metric and label in it exists."""

import json
import re
from typing import Any

import promql_parser
import pytest
import yaml

from anex import metrics
from anex.core import measures
from anex.settings.base import BASE_DIR

DEPLOY = BASE_DIR / "deploy"
# Given by Prometheus itself.
GIVEN_METRICS = {"up"}
GIVEN_LABELS = {"instance", "job", "le"}


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((DEPLOY / "grafana" / "anex.json").read_text())["panels"]
    return found


def expressions() -> list[tuple[str, str, str]]:
    """What it belongs to, the expression, and the text in which its labels are named."""
    alerts = [(rule["alert"], rule["expr"], str(rule["annotations"])) for rule in rules()]
    shown = [
        (panel["title"], target["expr"], target["legendFormat"]) for panel in panels() for target in panel["targets"]
    ]
    return [*alerts, *shown]


@pytest.fixture
def offered(db: None) -> dict[str, set[str]]:
    """Labels by the name of each sample that /metrics may tell."""
    families = metrics._families()
    found = {
        family.name + ("_total" if family.type == "counter" else ""): set(family._labelnames) for family in families
    }
    for histogram in (measures._WHOLE, measures._BEGUN, measures.SETTLED):
        for end in ("_bucket", "_count", "_sum"):
            found[histogram._name + end] = set(histogram._labelnames)
    return found


def test_an_expression_asks_for_what_there_is(offered: dict[str, set[str]]) -> None:
    for about, expression, text in expressions():
        promql_parser.parse(expression)
        named = set(re.findall(r"\b(?:anex_\w+|up)\b", expression))
        assert named, about
        assert named <= offered.keys() | GIVEN_METRICS, about
        labels = GIVEN_LABELS.union(*(offered.get(name, set()) for name in named))
        assert labels_in(expression, text) <= labels, about


def labels_in(expression: str, text: str) -> set[str]:
    """Every label that an expression groups or selects by, or a text shows."""
    groups = ",".join(re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", expression))
    selected = re.findall(r"[{,]\s*(\w+)\s*[=!]", expression)
    shown = [*re.findall(r"\{\{\s*\$labels\.(\w+)", text), *re.findall(r"\{\{(\w+)\}\}", text)]
    return {label.strip() for label in groups.split(",") if label.strip()} | {*selected, *shown}


def test_every_alert_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"].keys() == {"summary", "remedy"}
    assert len({rule["alert"] for rule in rules()}) == len(rules())


def test_the_dashboard_shows_every_figure(offered: dict[str, set[str]]) -> None:
    shown = " ".join(target["expr"] for panel in panels() for target in panel["targets"])
    of_histograms = {name for name in offered if name.endswith(("_bucket", "_count", "_sum"))}
    assert {name for name in offered.keys() - of_histograms if name not in shown} == set()
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_the_page_of_figures_names_every_one(offered: dict[str, set[str]]) -> None:
    page = (BASE_DIR / "docs" / "observability.md").read_text()
    names = {re.sub(r"_(bucket|count|sum)$", "", name) for name in offered}
    assert {name for name in names if f"`{name}`" not in page} == set()
