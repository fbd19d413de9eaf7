"""What a worker has at hand for one model, and whose chunks it should claim next."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from jobs.run.claims import Claim, Rank
from jobs.run.rows import ChunkRun
from jobs.run.window import MAX_BYTES, Window

# What is at hand beyond what the window needs, so that a short job need not wait for the chunk of a long one to end.
ORGANIZATIONS_AT_ONCE = 8
JOBS_OF_AN_ORGANIZATION = 2


class AtHand:
    """Rows of claimed chunks that are still to be sent; for one look at the database.

    While they are too few for the window any chunk is wanted, and then one of each of a few organizations and jobs that
    have none here. What waits for hosts leaves the servers to other jobs.
    """

    def __init__(self, runs: Sequence[ChunkRun], window: Window) -> None:
        self._window = window
        self._held_up = window.turns.held_up()
        self._rows = self._bytes = 0
        self._jobs: defaultdict[UUID, set[UUID]] = defaultdict(set)
        self._ranks: dict[UUID, Rank] = {}
        for run in runs:
            if run.undispatched:
                self._count(run.claim, run.undispatched)

    def add(self, claim: Claim) -> None:
        """Another chunk was claimed."""
        self._count(claim, claim.done.count("0"))

    def wanting(self) -> bool:
        """Whether there is room for another chunk of somebody who is not passed."""
        return self._bytes < MAX_BYTES and (not self._is_enough() or len(self._jobs) < 2 * ORGANIZATIONS_AT_ONCE)

    def least_share(self) -> int:
        """The least that is wanted: beside those who have the usual window there is room for as many who have not."""
        return 2 if self._is_enough() and len(self._jobs) >= ORGANIZATIONS_AT_ONCE else 1

    def passed_jobs(self) -> set[UUID]:
        """The jobs of which no chunk is wanted."""
        return self._held_up.union(*self._jobs.values()) if self._is_enough() else self._held_up

    def passed_organizations(self) -> dict[UUID, Rank]:
        """The organizations of which no chunk is wanted, but of a job above all that are here."""
        if not self._is_enough():
            return {}
        return {whose: self._ranks[whose] for whose, jobs in self._jobs.items() if len(jobs) >= JOBS_OF_AN_ORGANIZATION}

    def _is_enough(self) -> bool:
        return self._rows >= self._window.ahead

    def _count(self, claim: Claim, rows: int) -> None:
        self._bytes += claim.size_bytes
        whose = claim.organization_id
        self._jobs[whose].add(claim.job_id)
        self._ranks[whose] = max(claim.rank, self._ranks.get(whose, claim.rank))
        if claim.job_id not in self._held_up:
            self._rows += rows
