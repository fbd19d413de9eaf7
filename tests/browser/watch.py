"""What no page may do, whatever a test is about; seen in every page that is open."""

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, Response, WebSocket

INSIDE = ("data", "blob", "about")


class Watch:
    """Collects requests to other hosts, errors on the console (what the CSP refuses among them) and answers of 5xx."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self._expected: list[str] = []
        self._seen: list[str] = []

    def expect(self, text: str) -> None:
        """What holds this text is what the test is about: a refusal's "status of 404", say."""
        self._expected.append(text)

    @property
    def faults(self) -> list[str]:
        """What was seen and nobody expected."""
        return [line for line in self._seen if not any(text in line for text in self._expected)]

    def take(self) -> list[str]:
        """The faults so far, which are none from now on."""
        found, self._seen = self.faults, []
        return found

    def follow(self, context: BrowserContext) -> None:
        """Watch every page of a context."""
        context.on("request", self._request)
        context.on("response", self._response)
        context.on("console", self._console)
        context.on("weberror", lambda error: self._seen.append(f"uncaught: {error.error}"))
        context.on("page", self._page)

    def _page(self, page: Page) -> None:
        page.on("websocket", self._socket)

    def _socket(self, socket: WebSocket) -> None:
        self._address(socket.url)

    def _request(self, request: Request) -> None:
        self._address(request.url)

    def _address(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in INSIDE and parts.netloc != self._host:
            self._seen.append(f"another host: {url}")

    def _response(self, response: Response) -> None:
        if response.status >= 500:
            self._seen.append(f"status of {response.status}: {response.url}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._seen.append(f"console: {message.text} ({message.location.get('url', '')})")
