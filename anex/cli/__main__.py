"""`python -m anex.cli` is the command `anex`."""

from anex.cli.app import main

main()
