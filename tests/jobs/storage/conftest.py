"""Both stores for the contract tests, and a web server process that serves the local one."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobs.storage import local_store
from jobs.storage.interface import Store
from jobs.storage.local import LocalStore
from jobs.storage.s3 import S3Store, connect
from tests.jobs.storage import rclone, strict_s3

START_LIMIT_S = 60


@dataclass
class Web:
    """A running server process and the store it serves, as this process sees it."""

    url: str
    process: subprocess.Popen[bytes]
    store: LocalStore
    folder: Path

    @property
    def rss_bytes(self) -> int:
        """Resident memory of the server."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def files(self) -> list[Path]:
        """Every file below the store's folder, finished or not."""
        return [path for path in self.folder.rglob("*") if path.is_file()]


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    with strict_s3.serving() as url:
        yield url


@pytest.fixture(scope="session")
def s3_store(s3_url: str) -> S3Store:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", strict_s3.ACCESS_KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", strict_s3.SECRET)
        client = connect(endpoint_url=s3_url, region=strict_s3.REGION)
        client.create_bucket(Bucket="anex-test")
    return S3Store(client, "anex-test")


@pytest.fixture(scope="session")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("objects")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "anex.settings.test",
        "ANEX_STORAGE_DIR": str(folder),
        "ANEX_PUBLIC_URL": url,
    }
    # Without realtime, which would need tables in the database.
    options = [f"--port={port}", "--log-level=warning", "--lifespan=off"]
    command = [sys.executable, "-m", "uvicorn", "anex.asgi:application", *options]
    process = subprocess.Popen(command, env=env)
    try:
        _wait_until_serving(url, process)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("django.conf.settings.ANEX_STORAGE_DIR", folder)
            patch.setattr("django.conf.settings.ANEX_PUBLIC_URL", url)
            store = local_store()
        yield Web(url, process, store, folder)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def rclone_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Store]:
    with rclone.serving(tmp_path_factory.mktemp("rclone")) as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", strict_s3.ACCESS_KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", strict_s3.SECRET)
        client = connect(endpoint_url=url, region=strict_s3.REGION)
        client.create_bucket(Bucket="anex-test")
        yield S3Store(client, "anex-test")


@pytest.fixture(params=["local", "s3", "rclone"])
def any_store(request: pytest.FixtureRequest) -> Store:
    """The local store, and S3 as two servers know it; what one of them does not do must fail there."""
    if request.param == "local":
        return request.getfixturevalue("web").store
    if request.param == "rclone" and (reason := rclone.lacks(request.node.name)):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    return request.getfixturevalue(f"{request.param}_store")


def _wait_until_serving(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/storage/upload").close()
        except urllib.error.HTTPError as error:
            error.close()
            return
        except urllib.error.URLError:
            time.sleep(0.05)
    raise RuntimeError("the web server did not start")
