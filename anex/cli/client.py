"""Requests of the API with one account: what may be repeated is, and a refusal is the server's own sentence."""

import html
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import httpx

from anex.cli.account import Account
from anex.cli.failures import Exit, Failure, of_status

Told = Callable[[str], None]

ATTEMPTS: Final = 5
_LONGEST_WAIT_S: Final = 30.0
_PASSING: Final = frozenset({429, 502, 503, 504})
# What a model may think before its first word, and between two of them.
_ANSWER: Final = httpx.Timeout(30, read=300)
_MOST_REASON: Final = 300


class Client:
    """A context manager. `told` hears why a request waits."""

    def __init__(self, account: Account, told: Told) -> None:
        self.url = account.url
        self._told = told
        self.attempts = ATTEMPTS
        headers = {"Authorization": f"Bearer {account.key}", "User-Agent": f"anex-cli/{version()}"}
        try:
            with reached(account.url):
                self._http = httpx.Client(base_url=account.url, headers=headers, timeout=60)
        except UnicodeEncodeError:
            raise Failure("The key holds letters that no key has.", exit_status=Exit.NO_KEY) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **query: Any) -> Any:
        """What a GET answers; repeated through faults that pass."""
        given = {name: value for name, value in query.items() if value is not None}
        return document(self._send("GET", path, repeat=True, params=given))

    def create(self, path: str, body: dict[str, Any]) -> Any:
        """What a POST that makes something answers; its idempotency key lets it be repeated."""
        once = {"Idempotency-Key": str(uuid4())}
        return document(self._send("POST", path, repeat=True, json=body, headers=once))

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """What a POST answers; repeated only where the server never had it."""
        return document(self._send("POST", path, repeat=False, json=body))

    @contextmanager
    def streaming(self, path: str, body: dict[str, Any]) -> Iterator[Iterator[str]]:
        """The lines of a streamed answer."""
        with self._reached(), self._http.stream("POST", path, json=body, timeout=_ANSWER) as answer:
            if answer.status_code >= 300:
                answer.read()
                raise refusal(answer)
            yield answer.iter_lines()

    def _send(self, method: str, path: str, *, repeat: bool, **options: Any) -> httpx.Response:
        for attempt in range(1, self.attempts + 1):
            last = attempt == self.attempts
            try:
                with self._reached():
                    answer = self._http.request(method, path, **options)
            except Failure as failure:
                never_sent = isinstance(failure.__cause__, httpx.ConnectError | httpx.ConnectTimeout)
                if last or not (repeat or never_sent):
                    raise
                wait(attempt, None, failure.message, self._told)
                continue
            if answer.status_code < 300:
                return answer
            if last or not repeat or answer.status_code not in _PASSING or _is_final(answer):
                raise refusal(answer)
            wait(attempt, answer.headers.get("Retry-After"), refusal(answer).message, self._told)
        raise AssertionError

    @contextmanager
    def _reached(self) -> Iterator[None]:
        with reached(self.url):
            yield


def document(answer: httpx.Response) -> Any:
    """The JSON object of an answer. Raises Failure where something else than an Anex server answers."""
    try:
        found = answer.json()
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Failure(f"{answer.request.url.host} does not answer as an Anex server does. Is its address right?")
    return found


def wait(attempt: int, asked: str | None, why: str, told: Told) -> None:
    """Sleep before the next attempt: as long as the server asks, else longer each time."""
    seconds = float(asked) if asked and asked.isdecimal() else 0.25 * 2**attempt
    seconds = min(seconds, _LONGEST_WAIT_S)
    told(f"{why} Trying again in {seconds:g} s.")
    time.sleep(seconds)


@contextmanager
def reached(url: str) -> Iterator[None]:
    """Faults of the connection to a server, as Failure (TRY_LATER)."""
    try:
        yield
    except httpx.InvalidURL as error:
        raise Failure(f"{url} is no address: {error}.", exit_status=Exit.USAGE) from error
    except httpx.TimeoutException as error:
        raise Failure(f"{url} did not answer in time.", exit_status=Exit.TRY_LATER) from error
    except httpx.HTTPError as error:
        why = str(error) or type(error).__name__
        raise Failure(f"{url} cannot be reached: {why.rstrip('.')}.", exit_status=Exit.TRY_LATER) from error


def refusal(answer: httpx.Response) -> Failure:
    """What an answer of 300 and more says; it has been read. No redirect is followed: the key is for one server."""
    message, code = _sentence(answer)
    if answer.is_redirect:
        message = f"{answer.request.url.host} sends on to {answer.headers.get('Location')}. Set ANEX_BASE_URL to that."
    if not message:
        message = f"{answer.request.url.host} answered {answer.status_code} {answer.reason_phrase}."
    if answer.status_code == 421 and (api := _field(answer, "api")):
        message += f" Set ANEX_BASE_URL to {api}."
    return of_status(answer.status_code, message, code)


def version() -> str:
    """The version of what is installed."""
    try:
        return metadata.version("anex")
    except metadata.PackageNotFoundError:
        return "0"


def _is_final(answer: httpx.Response) -> bool:
    return bool(answer.headers.get("x-should-retry") == "false")


def _field(answer: httpx.Response, name: str) -> str:
    try:
        return str(answer.json().get(name) or "")
    except (ValueError, AttributeError):
        return ""


def _sentence(answer: httpx.Response) -> tuple[str, str | None]:
    """The sentence and the code of a refusal, in whichever of the shapes that the paths of a server have."""
    try:
        body = answer.json()
    except ValueError:
        return _plain(answer.text), None
    if not isinstance(body, dict):
        return "", None
    error = body.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or ""), error.get("code")
    if isinstance(error, str):
        return str(body.get("message") or error), error
    detail = body.get("detail")
    return detail if isinstance(detail, str) else "", None


def _plain(text: str) -> str:
    """A store's refusal is XML; a proxy's may be a whole page, of which nothing is told."""
    if found := re.search(r"<Message>([^<]+)</Message>", text):
        return html.unescape(found[1])
    return "" if "<" in text else re.sub(r"\s+", " ", text).strip()[:_MOST_REASON]
