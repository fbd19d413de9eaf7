"""What a deployment starts from, looked at without an engine: names, commands, limits, and systemd's own opinion."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from anex.settings.base import BASE_DIR

DEPLOY = BASE_DIR / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
# Read by libraries and base images, not by our settings.
OF_OTHERS = re.compile(
    r"DJANGO_SETTINGS_MODULE|TMPDIR|POSTGRES_(DB|USER|PASSWORD)|AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY)"
)


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def unit(path: Path) -> list[tuple[str, str]]:
    """Its settings; a name may come more than once."""
    lines = [line for line in path.read_text().splitlines() if "=" in line and not line.startswith("#")]
    return [(name, value) for name, _, value in (line.partition("=") for line in lines)]


def commands() -> list[list[str]]:
    """Every command of ours, once."""
    found = [[str(word) for word in one["command"]] for one in compose()["services"].values() if "build" in one]
    found += [shlex.split(value) for path in UNITS for name, value in unit(path) if name == "ExecStart"]
    return found


def test_every_variable_is_one_that_is_read() -> None:
    example = (BASE_DIR / ".env.example").read_text()
    known = set(re.findall(r"^#?(\w+)=", example, re.MULTILINE))
    named = {name for one in compose()["services"].values() for name in one.get("environment", {})}
    for path in UNITS:
        lines = [value for name, value in unit(path) if name == "Environment"]
        named |= {word.partition("=")[0] for line in lines for word in line.split()}
    assert len(named) > 5
    assert {name for name in named if not OF_OTHERS.match(name) and name.removesuffix("_FILE") not in known} == set()


def test_the_pieces_of_the_compose_file_fit_together() -> None:
    whole = compose()
    services = whole["services"]
    assert {"web", "upload", "worker", "scheduler", "engine", "postgres", "valkey", "store", "proxy"} <= services.keys()
    for name, one in services.items():
        assert set(one.get("secrets", ())) <= whole["secrets"].keys(), name
        assert set(one["networks"]) <= whole["networks"].keys(), name
        assert set(one.get("depends_on", {})) <= services.keys(), name
        for needed, how in one.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[needed], (name, needed)
        mounted = {volume.partition(":")[0] for volume in one.get("volumes", ())}
        assert {volume for volume in mounted if not volume.startswith(".")} <= whole["volumes"].keys(), name
        assert re.search(r":(local|v?[0-9]+\.[0-9][\w.-]*)$", one["image"]), f"{name} is not pinned"
        for value in one.get("environment", {}).values():
            assert not str(value).startswith("/run/secrets/") or Path(value).name in one["secrets"], name
    for name in ("web", "worker", "scheduler"):
        assert (services[name]["read_only"], services[name]["cap_drop"]) == (True, ["ALL"])
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_the_last_stage_of_the_image_builds_nothing_and_is_nobody_s_root() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    first, last = re.split(r"^FROM ", text, flags=re.MULTILINE)[1:]
    assert re.search(r"^ARG BASE=\S+:\d+\.\d+\.\d+-", text, re.MULTILINE)
    assert "pip install" in first
    assert not re.search(r"\b(apt|apt-get|apk|gcc|make|pip)\b", last)
    assert re.search(r"^USER [1-9]\d*$", last, re.MULTILINE)
    copied = set(re.findall(r"^COPY (?!--)(.+) \S+$", first, re.MULTILINE))
    paths = {path for line in copied for path in line.split()}
    assert {path for path in paths if not (BASE_DIR / path).exists()} == set()
    assert {"anex", "accounts", "billing", "inference", "jobs", "realtime", "templates", "static"} <= paths


@pytest.mark.parametrize("program", ["anex.serve", "celery worker", "celery beat", "manage.py migrate"])
def test_every_command_knows_the_options_it_is_given(program: str) -> None:
    words = program.split()
    ours = [command for command in commands() if set(words) <= set(command)]
    assert ours
    options = {word for command in ours for word in command if word.startswith("-")} - {"-m", "-A"}
    (start,) = {tuple(_start(command, words[-1])) for command in ours}
    done = subprocess.run([*start, "--help"], cwd=BASE_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    known = set(re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", done.stdout))
    assert {option.partition("=")[0] for option in options} <= known


def _start(command: list[str], last: str) -> list[str]:
    """The command up to its verb, run by this Python."""
    words = command[: command.index(last) + 1]
    program = Path(words[0]).name
    return [sys.executable, *(["-m", "celery"] if program == "celery" else []), *words[1:]]


def test_a_stop_is_given_as_long_as_draining_takes() -> None:
    services = compose()["services"]
    limits = {name: dict(unit(DEPLOY / "systemd" / name)) for name in ("anex-web@.service", "anex-engine@.service")}
    drain = int(re.search(r"--drain-seconds (\d+)", limits["anex-web@.service"]["ExecStart"])[1])  # type: ignore[index]
    assert int(limits["anex-web@.service"]["TimeoutStopSec"]) > drain
    assert services["web"]["stop_grace_period"] == f"{limits['anex-web@.service']['TimeoutStopSec']}s"
    assert services["engine"]["stop_grace_period"] == f"{limits['anex-engine@.service']['TimeoutStopSec']}s"
    assert all(dict(unit(path)).get("KillMode") == "mixed" for path in UNITS if path.suffix == ".service")


def test_the_proxy_holds_nothing_back_and_names_who_asked() -> None:
    text = (DEPLOY / "proxy" / "nginx.conf").read_text()
    assert text.count("{") == text.count("}")
    settings = dict(re.findall(r"^\s*(\w+) ([^;{]+);$", text, re.MULTILINE))
    assert (settings["proxy_buffering"], settings["proxy_request_buffering"]) == ("off", "off")
    assert settings["client_max_body_size"] == "0"
    assert "X-Forwarded-For $remote_addr;" in text
    assert "X-Forwarded-Proto $scheme;" in text
    log_format = re.search(r"log_format[^;]*;", text)[0]  # type: ignore[index]
    assert not re.search(r"\$(request_uri|uri|request|args|query_string)\b", log_format)
    masked = re.search(r"^\s*~(\S+) \$page;$", text, re.MULTILINE)[1].replace("?<", "?P<")  # type: ignore[index]
    for page in ("/invitations/", "/accounts/password/reset/key/", "/accounts/confirm-email/"):
        assert re.match(masked, f"{page}token")["page"] == page  # type: ignore[index]
    assert re.match(masked, "/v1/models") is None
    upstreams = set(re.findall(r"^\s*upstream (\w+)", text, re.MULTILINE))
    assert set(re.findall(r"proxy_pass http://(\w+);", text)) == upstreams <= compose()["services"].keys()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for path in UNITS:
        text = re.sub(r"(?<=ExecStart=)\S+", "/bin/true", path.read_text())
        (tmp_path / path.name).write_text(text.replace("/srv/anex", "/").replace("User=anex", "User=root"))
    names = [str(tmp_path / path.name.replace("@.", "@1.")) for path in UNITS]
    for path in UNITS:
        if "@." in path.name:
            (tmp_path / path.name.replace("@.", "@1.")).symlink_to(tmp_path / path.name)
    command = ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line or "anex" in line]
    assert (done.returncode, said) == (0, []), done.stderr
