"""Where the realtime calls have what blocks done."""

from typing import Final

from anex.core.threads import Threads

in_thread: Final = Threads(4, "realtime").run
