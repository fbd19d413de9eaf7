"""A model of the part protocol small enough to visit every state: one chunk of two rows, two workers, a job.

Each step below is one statement or one effect of the real code (jobs/run); between any two steps a worker may be
killed, be silent past its lease and go on, not hear the answer to its commit, or drop its chunk and claim it again.
`Guards` can be switched off. A pause needs no step of its own: it is claims that do not come, which every path without
one is, and a chunk given back before all its rows are done, which may happen at any time.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

ROWS = (1, 2)
FULL = 3
TERMINAL = ("done", "cancelled")
FIXED = "fixed"  # the key of every object where keys are not random


@dataclass(frozen=True)
class Guards:
    """What keeps rows exactly once; the real ones are in jobs/run and jobs/services."""

    claim_locks_job: bool = True
    commit_checks_epoch: bool = True
    commit_checks_done: bool = True
    commit_is_one_statement: bool = True
    keys_are_random: bool = True
    finalize_fences: bool = True
    cancel_fences: bool = True
    settle_checks_status: bool = True

    @staticmethod
    def names() -> list[str]:
        return [field.name for field in fields(Guards)]


class Worker(NamedTuple):
    incarnation: int
    live: bool = True
    saw_running: bool = False
    claimed_done: int | None = None  # the chunk's done rows at the claim; None: holds no chunk
    buffer: int = 0
    pending: tuple[int, str] | None = None  # rows stored under a key, not yet known to be committed
    unmarked: int = 0  # rows whose part is inserted but not marked done
    finalizing: str = ""  # "", "claimed", "fenced"
    written: tuple[int, ...] | None = None


class State(NamedTuple):
    workers: tuple[Worker, Worker] = (Worker(1), Worker(2))
    status: str = "running"
    epoch: int = 0
    done: int = 0
    parts: tuple[tuple[int, str], ...] = ()
    objects: tuple[tuple[str, int], ...] = ()
    result: tuple[int, ...] = ()
    charges: tuple[int, ...] = ()
    kills: int = 1
    silences: int = 1
    lost_answers: int = 1
    forgets: int = 1
    cancels: int = 1
    born: int = 2

    def with_worker(self, index: int, **changes: object) -> "State":
        workers = list(self.workers)
        workers[index] = workers[index]._replace(**changes)  # type: ignore[arg-type]
        return self._replace(workers=tuple(workers))  # type: ignore[arg-type]

    def held_by_live(self) -> bool:
        return any(w.live and w.incarnation == self.epoch for w in self.workers)

    def paid_rows(self) -> int:
        return sum(mask.bit_count() for mask, _ in self.parts)


def violation(state: State) -> str:
    """What a customer would complain about; empty when nothing."""
    if state.status not in TERMINAL:
        return ""
    delivered = sorted(state.result)
    committed = sorted(row for mask, _ in state.parts for row in ROWS if mask & row)
    if len(state.charges) != 1:
        return f"settled {len(state.charges)} times"
    if len(set(delivered)) != len(delivered):
        return "a row is in the result twice"
    if delivered != committed:
        return "the result is not what was committed"
    if state.charges[0] != len(delivered):
        return "charged for other rows than delivered"
    if state.status == "done" and delivered != list(ROWS):
        return "a row is lost"
    return ""


def steps(state: State, guards: Guards) -> Iterator[State]:
    """Every state one step away."""
    for index in (0, 1):
        yield from _row_steps(state, index, guards)
        yield from _commit_steps(state, index, guards)
        yield from _final_steps(state, index, guards)
        yield from _faults(state, index)
    if state.status == "running" and state.cancels:
        cancelled = state._replace(cancels=0)
        if state.held_by_live() or state.parts:
            yield cancelled._replace(status="cancelling")
        else:
            epoch = 0 if guards.cancel_fences else state.epoch
            yield cancelled._replace(status="cancelled", epoch=epoch, charges=(*state.charges, 0))
    if state.status == "running" and state.done == FULL:
        yield state._replace(status="finalizing")


def _row_steps(state: State, index: int, guards: Guards) -> Iterator[State]:
    worker = state.workers[index]
    if state.status == "running" and not worker.saw_running:
        yield state.with_worker(index, saw_running=True)
    free = not state.held_by_live() and state.done != FULL
    running = state.status == "running" if guards.claim_locks_job else worker.saw_running
    dropped = state.epoch == worker.incarnation and state.done != FULL
    if worker.live and worker.claimed_done is None and (free or dropped) and running:
        yield state.with_worker(index, claimed_done=state.done)._replace(epoch=worker.incarnation)
    if worker.claimed_done is not None and worker.pending is None:
        if not worker.buffer:
            epoch = 0 if state.epoch == worker.incarnation else state.epoch
            yield state.with_worker(index, claimed_done=None)._replace(epoch=epoch)
        for row in ROWS:
            if worker.live and not (worker.claimed_done | worker.buffer) & row:
                yield state.with_worker(index, buffer=worker.buffer | row)
        if worker.buffer:
            key = f"{worker.incarnation}-{len(state.objects)}" if guards.keys_are_random else FIXED
            objects = dict(state.objects) | {key: worker.buffer}
            stored = state.with_worker(
                index, pending=(worker.buffer, key), buffer=0, claimed_done=worker.claimed_done | worker.buffer
            )
            yield stored._replace(objects=tuple(sorted(objects.items())))


def _commit_steps(state: State, index: int, guards: Guards) -> Iterator[State]:
    worker = state.workers[index]
    if worker.unmarked:
        yield state.with_worker(index, unmarked=0)._replace(done=state.done | worker.unmarked)
        return
    if worker.pending is None:
        return
    mask, key = worker.pending
    mine = not guards.commit_checks_epoch or state.epoch == worker.incarnation
    fresh = not guards.commit_checks_done or not state.done & mask
    if mine and fresh:
        committed = state._replace(parts=(*state.parts, (mask, key)))
        if guards.commit_is_one_statement:
            committed = committed._replace(done=state.done | mask)
            yield committed.with_worker(index, pending=None)
        else:
            yield committed.with_worker(index, pending=None, unmarked=mask)
        if state.lost_answers:
            yield committed._replace(lost_answers=0)
    elif any(known == key for _, known in state.parts):
        yield state.with_worker(index, pending=None)
    else:
        yield state.with_worker(index, pending=None, buffer=0, claimed_done=None)


def _final_steps(state: State, index: int, guards: Guards) -> Iterator[State]:
    worker = state.workers[index]
    taken = any(other.finalizing and other.live for other in state.workers)
    dropped = state.epoch == worker.incarnation and worker.claimed_done is None
    idle = dropped or not state.held_by_live()
    ready = state.status == "finalizing" or (state.status == "cancelling" and idle)
    if ready and not taken and not worker.finalizing and worker.live:
        yield state.with_worker(index, finalizing="claimed")
    if worker.finalizing == "claimed":
        fenced = state._replace(epoch=0) if guards.finalize_fences else state
        yield fenced.with_worker(index, finalizing="fenced")
    if worker.finalizing == "fenced" and worker.written is None:
        objects = dict(state.objects)
        rows = tuple(row for _, key in state.parts for row in ROWS if objects[key] & row)
        yield state.with_worker(index, written=rows)
    if worker.written is not None:
        open_job = state.status in ("finalizing", "cancelling") or not guards.settle_checks_status
        settled = state.with_worker(index, finalizing="", written=None)
        if open_job:
            outcome = "done" if state.done == FULL and state.status == "finalizing" else "cancelled"
            outcome = state.status if state.status in TERMINAL else outcome
            yield settled._replace(status=outcome, result=worker.written, charges=(*state.charges, state.paid_rows()))
        else:
            yield settled


def _faults(state: State, index: int) -> Iterator[State]:
    worker = state.workers[index]
    if state.kills:
        workers = list(state.workers)
        workers[index] = Worker(state.born + 1)
        yield state._replace(workers=tuple(workers), kills=0, born=state.born + 1)  # type: ignore[arg-type]
    if worker.claimed_done is not None and state.forgets:
        yield state.with_worker(index, claimed_done=None, buffer=0)._replace(forgets=0)
    if worker.live and state.silences:
        yield state.with_worker(index, live=False)._replace(silences=0)
    if not worker.live and not worker.pending and not worker.unmarked:
        workers = list(state.workers)
        workers[index] = Worker(state.born + 1)
        yield state._replace(workers=tuple(workers), born=state.born + 1)  # type: ignore[arg-type]


def canonical(state: State) -> State:
    """The one state that stands for all that differ only in names: of incarnations, of keys, of the two workers.

    What can no longer matter goes too: the objects nobody names, the epoch of an incarnation that is gone, the
    number of incarnations there were.
    """
    first, second = state.workers
    return min(_renamed(state, (first, second)), _renamed(state, (second, first)), key=hash)


def _renamed(state: State, order: tuple[Worker, Worker]) -> State:
    named = [key for _, key in state.parts] + [worker.pending[1] for worker in order if worker.pending]
    keys = {key: key if key == FIXED else str(place) for place, key in enumerate(dict.fromkeys(named))}
    epochs = {worker.incarnation: place for place, worker in enumerate(order, 1)}
    workers = [
        worker._replace(
            incarnation=epochs[worker.incarnation],
            pending=worker.pending and (worker.pending[0], keys[worker.pending[1]]),
        )
        for worker in order
    ]
    return state._replace(
        workers=(workers[0], workers[1]),
        epoch=epochs.get(state.epoch, 0),
        parts=tuple((mask, keys[key]) for mask, key in state.parts),
        objects=tuple(sorted((keys[key], mask) for key, mask in state.objects if key in keys)),
        born=2,
    )


def search(guards: Guards) -> tuple[str, int]:
    """Visit every reachable state; the first violation found (or a dead end) and the number of states."""
    start = State()
    seen, met = {start}, {start}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        following = list(steps(state, guards))
        if not following and state.status not in TERMINAL:
            return "the job can never end", len(seen)
        for one in following:
            if one in met:
                continue
            met.add(one)
            found = canonical(one)
            if found in seen:
                continue
            if problem := violation(found):
                return problem, len(seen)
            seen.add(found)
            queue.append(found)
    return "", len(seen)
