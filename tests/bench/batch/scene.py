"""What the benchmarks of batches run on: a platform whose model server is the compiled stand-in."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anex.supervisor.valkey import free_port
from tests.bench.gateway import platform
from tests.bench.gateway.processes import start
from tests.bench.gateway.programs import compiled
from tests.stack import Stack


@contextmanager
def scene(*, workers: int, concurrency: int) -> Iterator[tuple[Stack, int, Path]]:
    """A running platform, the port of the stand-in and a folder that goes afterwards. Raises Missing without rustc."""
    with tempfile.TemporaryDirectory(prefix="anex-batch-", dir="/var/tmp") as name:
        folder, upstream = Path(name), free_port()
        program = str(compiled("upstream"))
        start([program, str(upstream)], log=folder / "upstream.log", port=upstream, seconds=10)
        with platform.stack(folder, workers=workers) as stack:
            platform.configure(stack, upstream, concurrency=concurrency)
            yield stack, upstream, folder
