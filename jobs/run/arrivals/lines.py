"""Checks the lines of a batch file piece by piece, as they arrive; of each row only a fingerprint of its id is kept."""

from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

from inference.refusals import RowError
from inference.requests.batch_lines import Reader, Target, reader, target_of
from jobs.run.hashes import repeats

# What a line holds may take thirty times its size: long ones are read one at a time.
LONG_BYTES: Final = 1 << 20
_LOW_BITS: Final = 0xFFFF_FFFF
# Of media that a line holds, three bytes take four characters.
_BASE64: Final = 4 / 3
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The longest line in bytes, and the most rows of a file."""

    line_bytes: int
    rows: int


class BadLine(Exception):
    """The file is refused: its first bad line, from 1, or 0 where it is about the whole file. `status` is HTTP's."""

    def __init__(self, line: int, message: str, param: str | None = None, status: int = 400) -> None:
        super().__init__(message)
        self.line = line
        self.message = message
        self.param = param
        self.status = status

    @property
    def sentence(self) -> str:
        """What is wrong, and where."""
        return f"Line {self.line}: {self.message}." if self.line else f"{self.message}."

    def as_dict(self) -> dict[str, Any]:
        """What it is made of again in another process."""
        return {"line": self.line, "message": self.message, "param": self.param, "status": self.status}


class Lines:
    """The lines of one file. `target` is known from the first row on, which is on the line `target_line`.

    `alone` is held while a long line is read. A row's fingerprint has 96 bits of hashes whose seed nobody knows: that
    two ids share one is not to be expected.
    """

    def __init__(self, limits: Limits, *, alone: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self.target: Target | None = None
        self.target_line = 0
        self._limits = limits
        self._alone = alone
        self._read: Reader | None = None
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._lines = 0
        self._numbers = array("I")
        self._hashes = array("q")
        self._more_hashes = array("I")

    def feed(self, data: bytes) -> None:
        """Check the lines that end in the next piece. Raises BadLine."""
        first = data.find(b"\n")
        if self._begun_bytes + (first if first >= 0 else len(data)) > self._limits.line_bytes:
            raise self._too_long()
        if first < 0:
            self._keep(data)
            return
        last = data.rfind(b"\n")
        whole = b"".join([*self._begun, data[:last]])
        self._begun, self._begun_bytes = [], 0
        self._keep(data[last + 1 :])
        with self._alone() if len(whole) > LONG_BYTES else nullcontext():
            self._check(whole.split(b"\n"))

    def finish(self) -> int:
        """Check the last line and the ids; answers how many rows there are. Raises BadLine."""
        if self._begun:
            self.feed(b"\n")
        if not self._numbers:
            raise BadLine(0, "The file is empty: it must hold one request per line")
        for row, first in repeats(self._hashes):
            if self._more_hashes[row] == self._more_hashes[first]:
                earlier = self._numbers[first]
                raise BadLine(self._numbers[row], f"custom_id was already used on line {earlier}", param="custom_id")
        return len(self._numbers)

    def _keep(self, data: bytes) -> None:
        if data:
            self._begun.append(data)
            self._begun_bytes += len(data)

    def _check(self, lines: list[bytes]) -> None:
        read = self._read or self._first
        numbers: Sequence[int] = range(self._lines + 1, self._lines + 1 + len(lines))
        try:
            ids = [read(line) for line in lines]
        except (RowError, MemoryError):
            numbers, ids = self._check_each(lines)
        if numbers:
            self.target_line = self.target_line or numbers[0]
        self._lines += len(lines)
        self._numbers.extend(numbers)
        self._hashes.extend(map(hash, ids))
        self._more_hashes.extend([hash(f"{custom_id}+") & _LOW_BITS for custom_id in ids])
        # Blank lines are no rows, but reading them takes time too.
        if len(self._numbers) > self._limits.rows or self._lines > 2 * self._limits.rows:
            raise BadLine(0, f"The file holds more than {self._limits.rows:,} requests: split it into several files")

    def _check_each(self, lines: list[bytes]) -> tuple[list[int], list[str]]:
        """The numbers and ids of lines among which one is blank or bad."""
        numbers, ids = [], []
        for number, line in enumerate(lines, self._lines + 1):
            if line and not line.isspace():
                try:
                    ids.append((self._read or self._first)(line))
                except RowError as error:
                    raise BadLine(number, error.message, error.param) from None
                except MemoryError:
                    raise BadLine(number, "the line holds too many values to be read") from None
                numbers.append(number)
        return numbers, ids

    def _first(self, line: bytes) -> str:
        """Read the first row, and whatever is read with it."""
        if self._read:
            return self._read(line)
        self.target = target_of(line)
        self._read = reader(self.target)
        return self._read(line)

    def _too_long(self) -> BadLine:
        most = self._limits.line_bytes
        return BadLine(
            self._lines + 1,
            f"the line is longer than {most // _MIB} MiB, so media in it can be up to about "
            f"{most / _BASE64 / _MIB:.0f} MiB: send larger images, audio and video by URL",
            status=413,
        )
