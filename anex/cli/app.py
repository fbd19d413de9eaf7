"""The command line: every command, and how a failure ends the process."""

import os
import sys
from typing import Annotated

import typer

from anex.cli import approving, chatting, doctoring, jobs, models, results, signing_in, spending, submitting
from anex.cli.client import version
from anex.cli.failures import Failure
from anex.cli.options import AsJson
from anex.cli.screen import screen

ENDINGS = (
    "Exit status: 0 done, 1 refused, 2 wrong command line, 3 no key or not a working one, 4 the credits do not cover "
    "it, 5 the job failed or was cancelled, 6 the server cannot be reached or is busy, 130 stopped by Ctrl-C.\n\n"
    "ANEX_API_KEY and ANEX_BASE_URL win over what anex login kept."
)

app = typer.Typer(
    help="Jobs, chats and spending on an Anex server.",
    epilog=ENDINGS,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    signing_in.login,
    signing_in.logout,
    models.models,
    submitting.submit,
    approving.estimate,
    approving.approve,
    jobs.watch,
    jobs.jobs,
    jobs.cancel,
    results.download,
    chatting.chat,
    spending.usage,
    doctoring.doctor,
):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        print(version())
        raise typer.Exit


@app.callback()
def begin(
    as_json: AsJson = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Jobs, chats and spending on an Anex server."""


def main() -> None:
    """What the console script `anex` runs."""
    try:
        app(prog_name="anex")
    except Failure as failure:
        screen.fail(failure)
        sys.exit(failure.exit_status)
    except BrokenPipeError:
        # Who reads has gone, as `head` does; the interpreter would complain once more while it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
