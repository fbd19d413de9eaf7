"""What one run leaves for the next under its folder."""

import socket
from pathlib import Path

import pytest

from anex.supervisor.process import StartError
from anex.supervisor.state import State, require_free


def test_a_port_is_kept_between_runs_and_given_up_when_it_is_taken(tmp_path: Path) -> None:
    port, former = State(tmp_path).port("model-port")
    assert former is None
    assert State(tmp_path).port("model-port") == (port, None)

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        other, former = State(tmp_path).port("model-port")
    assert former == port
    assert other != port
    assert State(tmp_path).port("model-port") == (other, None)


def test_a_secret_is_made_once_and_private(tmp_path: Path) -> None:
    secret = State(tmp_path).secret("secret-key")
    assert len(secret) >= 50
    assert State(tmp_path).secret("secret-key") == secret
    assert (tmp_path / "secret-key").stat().st_mode & 0o777 == 0o600


def test_a_half_written_secret_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "secret-key").touch()
    assert State(tmp_path).secret("secret-key")


def test_a_stale_lock_of_a_killed_run_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "supervisor.lock").write_text("1")
    state = State(tmp_path)
    state.take()
    with pytest.raises(StartError, match="already runs in this folder"):
        State(tmp_path).take()
    state.release()
    again = State(tmp_path)
    again.take()
    again.release()


def test_a_taken_port_is_named_together_with_a_free_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=rf"Port {port} is already used by another program\. .*--port \d+"):
            require_free(port)
    require_free(port)
