"""How many servers a model's queue wants. Pure."""

import math
from dataclasses import dataclass

# A queue is to be worked off within this, unless an operator says otherwise.
WITHIN_S = 3600.0


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits for the servers of a model in a region; `jobs` also counts those that are still being estimated.

    Rows count until they are durable; `tokens` is what they will take, in the unit of the model's pace: written, or
    read by a model that writes nothing. `tokens_per_second` is the pace of one server, None before the first was
    measured.
    """

    model_id: str
    region: str
    jobs: int = 0
    chunks: int = 0
    rows: int = 0
    tokens: int = 0
    tokens_per_second: float | None = None
    servers: int = 0

    def wanted(self, within_s: float = WITHIN_S) -> int:
        """Servers that work it off within so many seconds: one at least, and no more than there are chunks to share.

        Where no pace was measured, as many as there are now.
        """
        if not self.jobs:
            return 0
        pace = self.tokens_per_second
        enough = math.ceil(self.tokens / pace / within_s) if pace else self.servers
        return max(1, min(enough, self.chunks))
