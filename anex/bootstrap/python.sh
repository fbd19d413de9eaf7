#!/bin/sh
# sh anex/bootstrap/python.sh SET ARGUMENT...: the project's Python, with a set of requirements installed.
# Finds a Python; environment.py then makes the virtual environment where it is missing and runs ARGUMENT in it.
set -u
cd "$(dirname "$0")/../.." || exit 1
unset PYTHONHOME PYTHONPATH

suits() {
    "$1" -c "import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, $2))" >/dev/null 2>&1
}

# First the versions the pins are tested on, then anything newer.
for newest in 13 99; do
    for candidate in ${ANEX_PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
        if suits "$candidate" "$newest"; then
            exec "$candidate" anex/bootstrap/environment.py "$@"
        fi
    done
done

echo "Anex needs Python 3.11 or newer with its venv module, under the name ${ANEX_PYTHON:-python3 or python3.11 to python3.13}.
Install it (Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf install python3; macOS: brew install
python@3.13) and run the same command again." >&2
exit 1
