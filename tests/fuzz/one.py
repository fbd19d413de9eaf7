"""One target under atheris, which watches the branches of our code: `one.py TARGET [options of libFuzzer] [folder]`."""

import sys

import atheris

with atheris.instrument_imports(include=["inference"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Run until libFuzzer has had enough; a fault ends the process with its status."""
    target = TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
