"""Each environment's settings in a process of its own, with exactly the variables a test gives it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from anex.settings.base import BASE_DIR, database

PRODUCTION = {
    "SECRET_KEY": "only-for-this-test-" * 3,
    "ALLOWED_HOSTS": "anex.example",
    "ANEX_PUBLIC_URL": "https://anex.example",
    "DATABASE_URL": "postgres://anex:secret@db.internal:5432/anex",
    "REDIS_URL": "redis://redis.internal:6379/0",
    "ANEX_S3_BUCKET": "anex-objects",
}


def manage(settings: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": f"anex.settings.{settings}", **variables}
    command = [sys.executable, "-W", "error::RuntimeWarning", "manage.py", *arguments]
    return subprocess.run(command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False)


def test_development_starts_with_an_empty_environment() -> None:
    done = manage("development", "check")
    assert done.returncode == 0, done.stderr


def test_production_with_a_full_environment_passes_the_deployment_check() -> None:
    done = manage("production", "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["SECRET_KEY", "ALLOWED_HOSTS", "ANEX_PUBLIC_URL", "DATABASE_URL", "REDIS_URL"])
def test_production_names_the_variable_that_is_missing(missing: str) -> None:
    done = manage("production", "check", **{name: value for name, value in PRODUCTION.items() if name != missing})
    assert done.returncode != 0
    assert missing in done.stderr.splitlines()[-1]


def test_production_names_every_missing_variable_at_once() -> None:
    last = manage("production", "check").stderr.splitlines()[-1]
    assert all(name in last for name in ("SECRET_KEY", "ALLOWED_HOSTS", "ANEX_PUBLIC_URL", "DATABASE_URL", "REDIS_URL"))


def test_production_names_the_store_that_is_missing() -> None:
    without = {name: value for name, value in PRODUCTION.items() if name != "ANEX_S3_BUCKET"}
    assert "ANEX_S3_BUCKET" in manage("production", "check", **without).stderr.splitlines()[-1]
    assert manage("production", "check", **without, ANEX_STORAGE_DIR="/srv/anex").returncode == 0


@pytest.mark.parametrize("settings", ["development", "production"])
def test_an_unknown_region_does_not_start(settings: str) -> None:
    done = manage(settings, "check", **PRODUCTION | {"ANEX_REGION": "mars"})
    assert "ANEX_REGION must be world or eu." in done.stderr


def test_production_sends_e_mails_through_the_server_that_is_named() -> None:
    mail = {"EMAIL_URL": "smtp+tls://anex:p%40ss@mail.example:587", "EMAIL_FROM": "Anex <anex@anex.example>"}
    names = ("HOST", "PORT", "HOST_USER", "HOST_PASSWORD", "USE_TLS", "USE_SSL")
    shown = f"from django.conf import settings as s; print(*(getattr(s, 'EMAIL_' + name) for name in {names}))"
    done = manage("production", "shell", "--no-imports", "-c", shown, **PRODUCTION | mail)
    assert done.stdout.split() == ["mail.example", "587", "anex", "p@ss", "True", "False"], done.stderr


@pytest.mark.parametrize("settings", ["development", "production"])
@pytest.mark.parametrize("slashes", ["///{}", "////{}"])
def test_e_mails_can_be_written_as_files(settings: str, slashes: str, tmp_path: Path) -> None:
    folder = tmp_path if slashes.startswith("////") else BASE_DIR / "var" / "tests" / tmp_path.parent.name
    named = str(folder).lstrip("/") if slashes.startswith("////") else str(folder.relative_to(BASE_DIR))
    send = "from django.core.mail import send_mail; send_mail('Hello', 'x', None, ['ada@example.com'])"
    environment = PRODUCTION | {"EMAIL_URL": "filemail:" + slashes.format(named)}
    try:
        done = manage(settings, "shell", "--no-imports", "-c", send, **environment)
        assert done.returncode == 0, done.stderr
        [written] = folder.iterdir()
        assert "Subject: Hello" in written.read_text()
    finally:
        shutil.rmtree(folder)


def test_production_refuses_a_short_secret() -> None:
    done = manage("production", "check", **PRODUCTION | {"SECRET_KEY": "short"})
    assert "SECRET_KEY must have at least 50 characters." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_secret_may_be_a_file_which_comes_before_the_variable(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("in-a-file-" * 6 + "\n")
    given = PRODUCTION | {"SECRET_KEY": "short", "SECRET_KEY_FILE": str(tmp_path / "key")}
    show = "from django.conf import settings; print(settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)"
    done = manage("production", "shell", "--no-imports", "-c", show, **given)
    assert done.stdout == "in-a-file-" * 6 + "\n", done.stderr
    done = manage("production", "shell", "--no-imports", "-c", show, **given, SECRET_KEY_FALLBACKS="former,first")
    assert done.stdout.split() == ["in-a-file-" * 6, "former", "first"], done.stderr


def test_a_file_that_is_missing_stops_the_start_and_is_named_by_its_variable(tmp_path: Path) -> None:
    done = manage("production", "check", **PRODUCTION, ANEX_STRIPE_SECRET_KEY_FILE=str(tmp_path / "nothing"))
    assert done.returncode != 0
    assert "ANEX_STRIPE_SECRET_KEY_FILE names a file that cannot be read." in done.stderr.splitlines()[-1]


def test_production_refuses_to_be_whatever_host_it_is_called() -> None:
    done = manage("production", "check", **PRODUCTION | {"ALLOWED_HOSTS": "anex.example,*"})
    assert "ALLOWED_HOSTS must name hosts" in done.stderr


def test_cookies_of_production_are_of_one_host_over_https_and_out_of_reach_of_scripts() -> None:
    show = """
from django.conf import settings as s
kept = ("NAME", "SECURE", "HTTPONLY", "SAMESITE")
print([getattr(s, f"{name}_COOKIE_{fact}") for name in ("SESSION", "CSRF") for fact in kept])
print(s.SESSION_COOKIE_DOMAIN, s.CSRF_COOKIE_DOMAIN, s.SESSION_COOKIE_PATH, s.CSRF_COOKIE_PATH, s.DEBUG)
"""
    told = manage("production", "shell", "--no-imports", "-c", show, **PRODUCTION).stdout.splitlines()
    assert told == [
        "['__Host-anex_session', True, True, 'Lax', '__Host-anex_csrf', True, True, 'Lax']",
        "None None / / False",
    ]


def sign_in_pages(**variables: str) -> str:
    show = (
        "from django.urls import get_resolver; print(sorted(n for n in get_resolver().reverse_dict if str(n).endswith"
    )
    done = manage("development", "shell", "--no-imports", "-c", f"{show}('_login')))", **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_signing_in_with_an_account_elsewhere_is_off_until_its_client_is_named() -> None:
    google = {"ANEX_GOOGLE_CLIENT_ID": "id", "ANEX_GOOGLE_CLIENT_SECRET": "secret"}
    github = {"ANEX_GITHUB_CLIENT_ID": "id", "ANEX_GITHUB_CLIENT_SECRET": "secret"}
    assert sign_in_pages() == "['account_login']"
    assert sign_in_pages(ANEX_GOOGLE_CLIENT_ID="id") == "['account_login']"
    assert sign_in_pages(**google) == "['account_login', 'google_login']"
    assert sign_in_pages(**google, **github) == "['account_login', 'github_login', 'google_login']"
    show = "from django.conf import settings; print(settings.CONTENT_SECURITY_POLICY['DIRECTIVES']['form-action'])"
    allowed = manage("development", "shell", "--no-imports", "-c", show, **google).stdout
    assert "https://accounts.google.com" in allowed
    assert "github" not in allowed


def test_broken_files_in_the_operator_s_folder_of_models_stop_the_start(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "acme-chat.yaml").write_text("id: acme-chat\ncolour: red\n")
    (tmp_path / "prices" / "acme-chat.yaml").write_text("[]")
    done = manage("development", "check", ANEX_MODELS_DIR=str(tmp_path))
    assert done.returncode != 0
    assert "(inference.E001) catalogue file acme-chat.yaml" in done.stderr
    assert "(billing.E001) acme-chat.yaml" in done.stderr


def test_development_reads_every_setting_from_its_files(tmp_path: Path) -> None:
    for package in ("settings", "core"):
        shutil.copytree(BASE_DIR / "anex" / package, tmp_path / "anex" / package)
    shutil.copy(BASE_DIR / "anex" / "celery.py", tmp_path / "anex")
    (tmp_path / ".env").write_text("ANEX_REGION=eu\nDATABASE_URL=postgres://a@one/anex\nANEX_S3_BUCKET=bucket\n")
    (tmp_path / "var").mkdir()
    (tmp_path / "var" / "services.env").write_text("DATABASE_URL='postgres://a@two/anex'\nANEX_PUBLIC_URL='http://x'\n")
    names = ("ANEX_REGION", "ANEX_S3_BUCKET", "ANEX_PUBLIC_URL", "ANEX_LEASE_SECONDS")
    show = f"from anex.settings import development as d; print([getattr(d, n) for n in {names}], d.DATABASES)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "ANEX_LEASE_SECONDS": "7"}
    shown = subprocess.check_output([sys.executable, "-c", show], cwd=tmp_path, env=environment, text=True)
    assert "['eu', 'bucket', 'http://x', 7.0]" in shown
    assert "'HOST': 'one'" in shown


def test_models_and_migrations_agree() -> None:
    done = manage(
        "test", "makemigrations", "--check", "--dry-run", DATABASE_URL=os.environ["DATABASE_URL"], REDIS_URL=""
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_environment_names_every_variable_that_settings_read() -> None:
    sources = [path.read_text() for path in (BASE_DIR / "anex" / "settings").glob("*.py")]
    read = set(re.findall(r"env\.(?:str|bool|list|float|int|db_url|email_url)\(\s*\"(\w+)\"", "\n".join(sources)))
    lines = (BASE_DIR / ".env.example").read_text().splitlines()
    named = {line.lstrip("# ").split("=")[0] for line in lines if "=" in line}
    assert read
    assert read <= named


def test_no_wait_for_the_database_is_without_an_end_and_its_url_has_the_last_word() -> None:
    options = database({"NAME": "anex", "OPTIONS": {"host": "/run/postgres", "connect_timeout": "2"}})["OPTIONS"]
    assert options.keys() >= {"host", "connect_timeout", "keepalives_idle", "tcp_user_timeout"}
    assert options["connect_timeout"] == "2"


def test_the_waits_are_what_the_database_driver_knows() -> None:
    with psycopg.connect(os.environ["DATABASE_URL"], **database({})["OPTIONS"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
