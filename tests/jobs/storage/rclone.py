"""A second S3 server, written by others than the first: rclone, serving a folder. Real multipart uploads and ranges."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.jobs.storage import strict_s3

START_LIMIT_S = 60
NO_CONDITIONS = "rclone ignores If-Match"
NO_STABLE_ETAG = "rclone names a multipart object by one ETag when it is finished and by another afterwards"
NO_FORMS = "rclone takes no form uploads"
NO_PARTIAL_LINKS = "rclone answers a range with 200"
LACKS = {
    "test_reads_that_name_an_older_version_are_refused": NO_CONDITIONS,
    "test_a_written_object_is_known_by_the_etag_its_writer_was_told[rclone-17825792]": NO_STABLE_ETAG,
    "test_presigned_upload_": NO_FORMS,
    "test_a_form_": NO_FORMS,
    "test_presigned_download_is_a_named_attachment": NO_PARTIAL_LINKS,
}


def lacks(test: str) -> str | None:
    """Why a test of the contract must fail on rclone; None where it must pass."""
    return next((reason for name, reason in LACKS.items() if test.startswith(name)), None)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The server's address, as long as the block lasts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).with_name("rclone")
    key = f"--auth-key={strict_s3.ACCESS_KEY},{strict_s3.SECRET}"
    process = subprocess.Popen(
        [program, "serve", "s3", f"--addr=127.0.0.1:{port}", key, "--config=", "--log-level=ERROR", str(folder)]
    )
    try:
        _wait(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("rclone did not start")
