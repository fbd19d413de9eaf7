"""A process that checks a stored input with children, prints their process ids and waits for nobody. Killed by tests.

Arguments: the root of the store, the key, the ETag and the size of the input.
"""

import sys
from pathlib import Path

from inference.catalogue import get
from inference.requests.options import RowOptions
from jobs.run import checkers
from jobs.run.scope import Scope
from jobs.storage.local import LocalStore
from tests.jobs.run.children import children_of_this_process

root, key, etag, size = sys.argv[1:]
checkers.SPAN_BYTES = 4096
checkers.cores = lambda: 2
model = get("scripted")
assert model is not None
store = LocalStore(Path(root), region="world", public_url="", secret="s")
for _ in checkers.check_spans(Scope(store, key, etag, int(size), model, RowOptions()), pulse=lambda: None):
    print(*children_of_this_process(), flush=True)
