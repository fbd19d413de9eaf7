"""`python -m anex.supervisor`, which is `make demo`: everything runs, a job is shown, Ctrl-C ends it."""

import argparse
import asyncio
import json
import os
import sys
import traceback
from pathlib import Path

import environ

from anex.core.clock import monotonic
from anex.demo.client import DemoError
from anex.demo.rows import ROWS, installed
from anex.demo.screen import Screen
from anex.demo.story import Story
from anex.supervisor.children import Supervisor, together
from anex.supervisor.platform import DECIDER, EMBEDDER, MODEL, Platform
from anex.supervisor.process import StartError
from anex.supervisor.services import ROOT
from anex.supervisor.state import State, require_free

_INTERRUPTED = 130


def main() -> int:
    """The exit status: 0 after a finished demo, 1 with a sentence when it failed, 130 when it was interrupted."""
    options = _options()
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    os.chdir(ROOT)
    if (ROOT / ".env").exists():
        environ.Env.read_env(ROOT / ".env")
    screen = Screen()
    state = State(options.state)
    try:
        state.take()
        require_free(options.port)
        return asyncio.run(_run(state, screen, port=options.port, once=options.once, rows=options.rows))
    except (StartError, DemoError) as error:
        screen.problem(str(error))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Nobody reads any more; Python must not complain about it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        screen.problem(f"{error.strerror or error}: {error.filename or state.directory}. Run it as the folder's owner.")
    except Exception:
        log = state.logs / "supervisor.log"
        log.write_text(traceback.format_exc())
        screen.problem(f"An unexpected error; {log} has the details. Running it again may help.")
    return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make demo",
        usage='make demo ARGS="[--once] [--port PORT] [--state STATE] [--rows ROWS]"',
        description="Run the whole platform and show a job on it.",
    )
    parser.add_argument("--once", action="store_true", help="stop everything after the job is shown")
    parser.add_argument("--port", type=_port, default=8000, help="of the console and the API (default: 8000)")
    parser.add_argument("--state", type=Path, default=ROOT / "var", help="where data and logs are kept (default: var)")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"of each job that is shown (default: {ROWS})")
    return parser.parse_args()


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


async def _run(state: State, screen: Screen, *, port: int, once: bool, rows: int) -> int:
    supervisor = Supervisor(state.logs, report=screen.note)
    supervisor.catch_signals()
    platform = Platform(state, supervisor, port=port)
    try:
        shown = await supervisor.until_ended(_show(platform, screen, rows, once=once))
        if shown and not once:
            screen.staying()
            await supervisor.ended.wait()
        screen.stopping()
    finally:
        await supervisor.stop()
        platform.close()
    if supervisor.failure:
        raise StartError(supervisor.failure)
    screen.stopped()
    return 0 if shown else _INTERRUPTED


async def _show(platform: Platform, screen: Screen, rows: int, *, once: bool) -> bool:
    since = monotonic()
    screen.heading("Anex")
    with screen.waiting("starting the database, the queue and the model servers"):
        await platform.prepare()
    with screen.waiting("starting the web server, the worker and the scheduler"):
        account, _ = await together(_account(platform), platform.serve())
    screen.started(platform.url, platform.supervisor.names, monotonic() - since)
    story = Story(url=platform.url, key=account["key"], model=MODEL, embedder=EMBEDDER, decider=DECIDER, screen=screen)
    job_id = ""
    try:
        job_id = await story.run(installed(rows))
    except DemoError as error:
        if once:
            raise
        # It may be what its owner switched off or froze, who needs it running to change that.
        screen.skipped(str(error))
    screen.invitation(
        url=platform.url,
        email=account["email"],
        password=account["password"],
        key=account["key"],
        job_id=job_id,
        model_id=MODEL,
        state=platform.state.directory,
    )
    return True


async def _account(platform: Platform) -> dict[str, str]:
    file = platform.state.directory / "demo.json"
    account: dict[str, str] = json.loads(await platform.manage("demo_account", "--file", str(file)))
    return account


if __name__ == "__main__":
    sys.exit(main())
