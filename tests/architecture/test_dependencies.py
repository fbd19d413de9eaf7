"""Every library is on the page that says why it is here, and none binds those who run the platform to the GPL."""

import ast
import re
import sys
from collections.abc import Iterator
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from anex.settings.base import BASE_DIR

PAGE = BASE_DIR / "docs" / "decisions" / "dependencies.md"
SOURCES = ("anex", "accounts", "billing", "inference", "jobs", "realtime")
# Packages that are part of a listed library although they are distributed by themselves.
PARTS_OF = {"asgiref": "django", "botocore": "boto3", "kombu": "celery"}
# Distributions that share one package; which of them a module is of is not told.
SHARED = {"opentelemetry": "opentelemetry-sdk"}
GPL = re.compile(r"\bA?GPL|Affero|(?<!Lesser )General Public License", re.IGNORECASE)


def listed(name: str) -> dict[str, Requirement]:
    """The lines of a requirements file by canonical name."""
    lines = [line.partition("#")[0].strip() for line in (BASE_DIR / name).read_text().splitlines()]
    requirements = [Requirement(line) for line in lines if line]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def licence(name: str) -> str:
    """A distribution's licence in its own words: the expression, else a short text, else the classifiers."""
    about = metadata.metadata(name)
    named = [*(about.get_all("License-Expression") or []), *(about.get_all("License") or []), ""]
    short = str(named[0]).strip()
    if short and "\n" not in short and len(short) <= 60:
        return short
    marks = [mark.rpartition(" :: ")[2] for mark in about.get_all("Classifier") or [] if mark.startswith("License")]
    return ", ".join(sorted(marks))


def rows_of_the_page() -> dict[str, tuple[str, str]]:
    """Library to reason and licence."""
    cells = [re.findall(r"[^|]+", line) for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {canonicalize_name(name.strip()): (why.strip(), what.strip()) for name, why, what in cells[1:]}


def installed_for(requirement: Requirement) -> Iterator[str]:
    """A requirement's distribution and, through it, everything pip installs with it here."""
    waiting, seen = [requirement], set()
    while waiting:
        wanted = waiting.pop()
        if (key := (canonicalize_name(wanted.name), *sorted(wanted.extras))) in seen:
            continue
        seen.add(key)
        yield key[0]
        for line in metadata.requires(wanted.name) or []:
            needed = Requirement(line)
            extras = wanted.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)


def imported() -> set[str]:
    """Distributions whose modules the source imports."""
    modules = set()
    for path in (path for folder in SOURCES for path in (BASE_DIR / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    owners = metadata.packages_distributions()
    foreign = modules - set(sys.stdlib_module_names) - set(SOURCES)
    return {SHARED.get(module) or canonicalize_name(owners[module][0]) for module in foreign}


# Traces are installed by whoever wants them.
PLATFORM = listed("requirements.txt") | listed("requirements-traces.txt")
MODELS = listed("requirements-models.txt")


def test_the_page_names_every_library_and_no_other() -> None:
    rows = rows_of_the_page()
    assert rows.keys() == PLATFORM.keys() | MODELS.keys()
    assert all(why for why, _ in rows.values())


def test_the_page_states_each_licence_as_the_library_does() -> None:
    assert {name: what for name, (_, what) in rows_of_the_page().items()} == {
        name: licence(name) for name in PLATFORM | MODELS
    }


def test_what_the_source_imports_is_listed() -> None:
    assert {PARTS_OF.get(name, name) for name in imported()} <= PLATFORM.keys()


def test_nothing_installed_with_the_platform_is_under_the_gpl() -> None:
    names = {name for requirement in PLATFORM.values() for name in installed_for(requirement)} | MODELS.keys()
    assert len(names) > len(PLATFORM)
    assert [name for name in sorted(names) if bound_by_the_gpl(licence(name))] == []


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        ("GPL-3.0-only", True),
        ("AGPL-3.0-or-later", True),
        ("GNU General Public License v2 (GPLv2)", True),
        ("GNU Affero General Public License v3", True),
        ("LGPL-3.0-only", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("GPL-2.0-only OR MIT", False),
        ("MIT", False),
    ],
)
def test_a_licence_binds_unless_another_may_be_chosen(words: str, bound: bool) -> None:
    assert bound_by_the_gpl(words) is bound


def bound_by_the_gpl(words: str) -> bool:
    """Whether every licence on offer is a GPL or AGPL; the LGPL asks nothing of those who only use the library."""
    return all(GPL.search(choice) for choice in words.split(" OR "))
