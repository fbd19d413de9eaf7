"""An HTTP double of the few calls of Stripe's API that are used; it checks key, idempotency key and fields."""

import itertools
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

SECRET_KEY = "sk_test_double"


class StripeDouble(ThreadingHTTPServer):
    """Keeps what was created, by idempotency key; `down` answers 500, `declines` refuses every charge."""

    daemon_threads = True
    # A server that closes waits for its handlers, so that no socket is left open.
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.numbers = itertools.count(1)
        self.created: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.down = False
        self.declines = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def pay(self, session_id: str) -> dict[str, Any]:
        """A customer pays the session's page; the session as it is then."""
        session = self.sessions[session_id]
        if not session["payment_intent"]:
            session |= {
                "status": "complete",
                "payment_status": "paid",
                "payment_intent": f"pi_{next(self.numbers)}",
                "customer": "cus_1" if session["saves"] else None,
            }
        return session


class _Handler(BaseHTTPRequestHandler):
    server: StripeDouble

    def do_GET(self) -> None:
        self.server.requests.append(("GET", self.path))
        session = self.server.sessions.get(self.path.rpartition("/")[2])
        self._answer(200 if session else 404, session or {"error": {"message": "No such session"}})

    def do_POST(self) -> None:
        self.server.requests.append(("POST", self.path))
        form = {
            key: value[0]
            for key, value in parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()).items()
        }
        assert self.headers["Authorization"] == f"Bearer {SECRET_KEY}"
        key = self.headers["Idempotency-Key"]
        assert key
        make = {
            "/v1/checkout/sessions": self._session,
            "/v1/payment_intents": self._intent,
            "/v1/refunds": self._refund,
        }[self.path]
        if key not in self.server.created and not self.server.down:
            status, made = make(form)
            if status != 200:
                self._answer(status, made)
                return
            self.server.created[key] = made
        self._answer(200, self.server.created[key])

    def _session(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        assert form["line_items[0][price_data][currency]"] == "usd"
        assert form["payment_intent_data[metadata][topup_id]"] == form["metadata[topup_id]"]
        session = {
            "id": f"cs_{next(self.server.numbers)}",
            "object": "checkout.session",
            "url": "https://checkout.stripe.com/c/pay",
            "status": "open",
            "payment_status": "unpaid",
            "payment_intent": None,
            "customer": None,
            "currency": "usd",
            "amount_total": int(form["line_items[0][price_data][unit_amount]"]),
            "metadata": {"topup_id": form["metadata[topup_id]"]},
            "saves": form.get("payment_intent_data[setup_future_usage]") == "off_session",
        }
        self.server.sessions[session["id"]] = session
        return 200, session

    def _intent(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        assert (form["off_session"], form["confirm"]) == ("true", "true")
        if self.server.declines:
            return 402, {"error": {"type": "card_error", "code": "card_declined", "message": "Your card was declined."}}
        return 200, intent_object(
            f"pi_{next(self.server.numbers)}", form["metadata[topup_id]"], int(form["amount"]), automatic=True
        )

    def _refund(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        return 200, refund_object(f"re_{next(self.server.numbers)}", form["payment_intent"], int(form["amount"]))

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        if self.server.down:
            status, body = 500, {"error": {"type": "api_error", "message": "down"}}
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


def intent_object(
    intent: str, topup_id: str, cents: int, *, automatic: bool = False, saves: bool = False
) -> dict[str, Any]:
    return {
        "id": intent,
        "object": "payment_intent",
        "status": "succeeded",
        "currency": "usd",
        "amount_received": cents,
        "customer": "cus_1" if saves or automatic else None,
        "payment_method": "pm_1",
        "setup_future_usage": "off_session" if saves else None,
        "metadata": {"topup_id": topup_id} | ({"automatic": "true"} if automatic else {}),
    }


def refund_object(refund: str, payment: str, cents: int, status: str = "succeeded") -> dict[str, Any]:
    return {
        "id": refund,
        "object": "refund",
        "status": status,
        "currency": "usd",
        "amount": cents,
        "payment_intent": payment,
    }


def dispute_object(dispute: str, payment: str, cents: int) -> dict[str, Any]:
    return {"id": dispute, "object": "dispute", "currency": "usd", "amount": cents, "payment_intent": payment}
