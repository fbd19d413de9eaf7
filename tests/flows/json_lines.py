"""What the processes of test_traces.py run with: the suite's settings, but log lines as production writes them."""

from anex.settings.test import *  # noqa: F403

LOGGING["handlers"]["console"]["formatter"] = "json"  # noqa: F405
