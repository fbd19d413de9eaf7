"""All surfaces, somebody who may do everything, and the log as production writes it."""

import logging
from importlib import import_module

import pytest

from anex.core.logging import ClientsFaults, JsonFormatter
from tests.hostile import scene
from tests.hostile.walker import Sender
from tests.realtime.served import configure
from tests.whole import serving


class Lines(logging.Handler):
    """What is written, as production writes it."""

    def __init__(self) -> None:
        super().__init__()
        self.formatter = JsonFormatter()
        self.addFilter(ClientsFaults())
        self.written: list[str] = []
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        self.written.append(line)
        if record.levelno >= logging.ERROR:
            self.faults.append(line)


@pytest.fixture
def lines():
    # Sets logging up, once.
    import_module("anex.asgi")
    kept = Lines()
    logging.getLogger().addHandler(kept)
    yield kept
    logging.getLogger().removeHandler(kept)


@pytest.fixture
def place(transactional_db, settings, tmp_path, lines):
    for name, value in scene.MARKS.items():
        setattr(settings, name, value)
    settings.ANEX_STORAGE_DIR = tmp_path / "objects"
    configure(9, "scripted", "scripted-embed", "scripted-decide", "scripted-media")
    return scene.made()


@pytest.fixture
def sender(place):
    with serving() as origin:
        made = Sender(origin)
        place.sign_in(made)
        yield made
        made.close()
