"""How often a process that handles many small objects looks for cycles among them."""

import gc
from typing import Final

# Objects made, and collections of the younger generation, before a generation is looked through.
_PACE: Final = (10_000, 20, 3)


def spare() -> None:
    """Leave alone what has been imported by now, and look for garbage less often.

    Looking through it again and again took a tenth of a realtime request's time, and half of a row's in a worker.
    """
    gc.collect()
    gc.freeze()
    # A full look waits until a quarter of what the last one saw is new: this one sees nothing.
    gc.collect()
    gc.set_threshold(*_PACE)
