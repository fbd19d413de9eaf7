"""A worker process that only copies: its pump, with the tests' server for the public internet. Runs until killed.

Arguments: the server's port, the folder of the certificates, the seconds of the lease.
"""

import sys
import threading
from pathlib import Path

import django

django.setup()

from anex.core import safe_http  # noqa: E402
from jobs.run import copier  # noqa: E402
from jobs.run.pump import Pump  # noqa: E402
from tests import https  # noqa: E402

port, folder, lease = sys.argv[1:]
safe_http.PUBLIC = https.rules_for(https.Server(int(port)), https.Authority(Path(folder)))
copier.REST_SECONDS = 0.2
Pump(region="world", lease_seconds=float(lease)).start()
threading.Event().wait()
