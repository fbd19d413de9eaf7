"""Everything `make demo` shows. On a pipe the same facts come as plain lines."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import combinations
from operator import mul
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from anex.demo.client import Line
from anex.demo.rows import Row

_SHOWN_ANSWERS = 5
_ANSWER_WIDTH = 160
_MOST_COLUMNS = 110
_QUESTION = "Name three rivers in Europe."
Show = Callable[[dict[str, Any]], None]


class Screen:
    """The terminal of one demo."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.console.width = min(self.console.width, _MOST_COLUMNS)

    def fact(self, label: str, text: str) -> None:
        """One line: what it is about, then the fact (markup allowed)."""
        self.console.print(f"  [cyan]{label:<10}[/] {text}", soft_wrap=True)

    def heading(self, text: str) -> None:
        """A new chapter."""
        self.console.print(f"\n[bold]{text}[/]")

    def note(self, sentence: str) -> None:
        """Something a person should know while the demo runs."""
        self.console.print(f"[yellow]{escape(sentence)}[/]", soft_wrap=True)

    def problem(self, sentence: str) -> None:
        """Why the demo ended before its end."""
        self.console.print(f"\n[red bold]Stopped:[/] {escape(sentence)}", soft_wrap=True)

    def skipped(self, sentence: str) -> None:
        """Why no job could be shown; everything runs on."""
        self.console.print(f"\n[yellow bold]No job is shown:[/] {escape(sentence)}", soft_wrap=True)

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """A spinner while something takes its time."""
        return self.console.status(f"[dim]{text}[/]") if self.console.is_terminal else contextmanager(_nothing)()

    def started(self, url: str, services: Sequence[str], seconds: float) -> None:
        """Everything runs."""
        self.fact("started", f"{', '.join(services)} in {seconds:.1f} s")
        self.fact("address", url)

    def uploaded(self, rows: int, size: int, first: Row) -> None:
        """The input file is stored."""
        self.heading("The job: what is each installed Python package for?")
        self.fact(
            "uploaded", f"{rows} rows, {size / 1000:.1f} KB: the packages' own descriptions, {first.custom_id} first"
        )

    def submitted(self, job_id: str, model: str) -> None:
        """The job exists."""
        self.fact("submitted", f"job {job_id} on {model}")

    def estimating(self) -> AbstractContextManager[object]:
        """While the rows are checked."""
        return self.waiting("checking and counting every row")

    def quoted(self, job: dict[str, Any]) -> None:
        """The price before anything is spent."""
        tokens = f"{job['est_input_tok']:,} tokens in, up to {job['est_output_tok']:,} tokens out"
        self.fact("quote", f"[bold]{_money(job['est_cost_cents'])}[/] at the most: {tokens}")

    def approved(self) -> None:
        """The quote is accepted."""
        self.fact("approved", "the quote is held, nothing more is ever charged")

    @contextmanager
    def running(self, total: int) -> Iterator[Show]:
        """A progress bar fed with the job; on a pipe, a line for every quarter."""
        if not self.console.is_terminal:
            yield self._quarters(total)
            return
        columns = (TextColumn("  [cyan]{task.description:<10}[/]"), BarColumn(40), MofNCompleteColumn())
        with Progress(*columns, TextColumn("rows"), TimeElapsedColumn(), console=self.console) as progress:
            task = progress.add_task("running", total=total)

            def show(job: dict[str, Any]) -> None:
                progress.update(task, completed=_rows_done(job, total))

            yield show

    def _quarters(self, total: int) -> Show:
        said = -1

        def show(job: dict[str, Any]) -> None:
            nonlocal said
            done = _rows_done(job, total)
            if done * 4 // total > said:
                said = done * 4 // total
                self.fact("running", f"{done}/{total} rows")

        return show

    def answered(self, lines: Sequence[Line], rows: Sequence[Row]) -> None:
        """A few lines of the downloaded result."""
        failed = sum(1 for line in lines if line.error)
        self.fact("result", f"{len(lines)} lines downloaded, {failed} with an error")
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column()
        for line in _spread(lines):
            answer = line.error or " ".join(line.text.split())
            table.add_row(Text(line.custom_id), Text(textwrap.shorten(answer, _ANSWER_WIDTH, placeholder=" …")))
        self.heading(f"Some of the {len(rows)} answers")
        self.console.print(table)

    def charged(self, job: dict[str, Any]) -> None:
        """The final charge beside the quote."""
        quote, charge = job["est_cost_cents"], job["charge_cents"]
        self.heading("The bill")
        self.fact("quoted", _money(quote))
        released = f", {_money(quote - charge)} of the hold released" if charge < quote else ", all of the hold"
        self.fact("charged", f"[bold green]{_money(charge)}[/]{released}")

    def two_more(self, embedder: str, decider: str) -> None:
        """Two small jobs begin."""
        self.heading("The same rows as vectors and as decisions")
        self.fact("submitted", f"one job on {embedder}, one on {decider}")

    def embedded(self, lines: Sequence[Line], job: dict[str, Any]) -> None:
        """What the vectors tell: the two rows that are most alike."""
        vectors = {line.custom_id: line.body["data"][0]["embedding"] for line in lines if not line.error}
        likeness, one, other = max(
            (sum(map(mul, vectors[one], vectors[other])), one, other) for one, other in combinations(vectors, 2)
        )
        width = len(vectors[one])
        alike = f"closest are {escape(one)} and {escape(other)} ({likeness:.2f})"
        self.fact("embedded", f"{len(vectors)} vectors of {width} numbers, {alike}, {_money(job['charge_cents'])}")

    def decided(self, lines: Sequence[Line], job: dict[str, Any]) -> None:
        """How the decisions fell."""
        answers = [line.body["answers"]["about"]["choice"] for line in lines if not line.error]
        counts = ", ".join(f"{count} {choice}" for choice, count in Counter(answers).most_common())
        self.fact("decided", f"what each is about: {escape(counts)}, {_money(job['charge_cents'])}")

    def invitation(
        self, *, url: str, email: str, password: str, key: str, job_id: str, model_id: str, state: Path
    ) -> None:
        """Where a person goes from here; `job_id` is empty where no job was shown."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="cyan", no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row("console", Text(f"{url}/dashboard"))
        table.add_row("staff", Text(f"{url}/admin/"))
        table.add_row("sign in", Text(f"{email}   password {password}"))
        table.add_row("key", Text(key))
        table.add_row("files", Text(f"{state}: data, logs, demo.json"))
        self.console.print()
        self.console.print(Panel(table, title="It is yours to try", title_align="left", border_style="green"))
        self.heading("With curl")
        self.console.print(
            f"curl -H 'Authorization: Bearer {key}' {url}/batch/v1/jobs{job_id and '/' + job_id}",
            soft_wrap=True,
            markup=False,
        )
        self.heading("With the command anex")
        self.console.print(
            f"ANEX_BASE_URL={url} ANEX_API_KEY={key} .venv/bin/anex chat -m {model_id} '{_QUESTION}'",
            soft_wrap=True,
            markup=False,
        )
        self.heading("With openai-python")
        self.console.print(_snippet(url, key, model_id), soft_wrap=True, markup=False)

    def staying(self) -> None:
        """The demo keeps running."""
        self.console.print("\n[bold]Everything keeps running.[/] Ctrl-C stops it; the data stays for the next run.")

    def stopping(self) -> None:
        """The end has begun."""
        self.console.print("\n[dim]Stopping.[/]")

    def stopped(self) -> None:
        """All processes have ended."""
        self.console.print("[dim]Everything is stopped; the data stays for the next run.[/]")


def _nothing() -> Iterator[None]:
    yield


def _rows_done(job: dict[str, Any], total: int) -> int:
    if job["status"] == "done":
        return total
    return int((job.get("progress") or {}).get("rows_done") or 0)


def _spread(lines: Sequence[Line]) -> list[Line]:
    """A few lines from all over the file."""
    step = max(1, len(lines) // _SHOWN_ANSWERS)
    return list(lines[::step][:_SHOWN_ANSWERS])


def _money(cents: int) -> str:
    return f"${cents // 100:,}.{cents % 100:02d}"


def _snippet(url: str, key: str, model_id: str) -> str:
    return textwrap.dedent(f"""\
        from openai import OpenAI

        client = OpenAI(base_url="{url}/v1", api_key="{key}")
        messages = [{{"role": "user", "content": "{_QUESTION}"}}]
        print(client.chat.completions.create(model="{model_id}", messages=messages).choices[0].message.content)""")
