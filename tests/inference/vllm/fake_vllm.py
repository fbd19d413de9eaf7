"""A stand-in for the `vllm` executable: answers /health, /version and /metrics as files in VLLM_FAKE_DIR say.

`healthy` makes it healthy, `crash` makes it exit once, `busy` gives it a request in work, `stubborn` makes it ignore
SIGTERM. It writes its command line, environment and a line per start into the same folder.
"""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

FOLDER = Path(os.environ["VLLM_FAKE_DIR"])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if (FOLDER / "crash").exists():
            (FOLDER / "crash").unlink()
            os._exit(1)
        healthy = (FOLDER / "healthy").exists()
        bodies = {
            "/health": b"",
            "/version": b'{"version": "0.32.0"}',
            "/metrics": b'vllm:num_requests_running{engine="0"} %d.0\n' % (FOLDER / "busy").exists(),
        }
        self.send_response(200 if healthy else 503)
        self.end_headers()
        self.wfile.write(bodies[self.path])

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with (FOLDER / "starts").open("a") as starts:
        starts.write(f"{os.getpid()}\n")
    (FOLDER / "arguments").write_text(json.dumps(sys.argv[1:]))
    (FOLDER / "environment").write_text(json.dumps(dict(os.environ)))
    if (FOLDER / "stubborn").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
