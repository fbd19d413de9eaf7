"""Options that several commands have."""

from typing import Annotated

import typer

from anex.cli.screen import screen


def _note(value: bool) -> bool:
    screen.as_json = screen.as_json or value
    return value


AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON document on stdout.", callback=_note, is_eager=True),
]
JobId = Annotated[
    str, typer.Argument(metavar="JOB", help="The job's id, as anex submit printed it.", show_default=False)
]
MaxCost = Annotated[
    float | None,
    typer.Option(min=0, metavar="DOLLARS", help="Approve only a quote of at most so much.", show_default=False),
]
