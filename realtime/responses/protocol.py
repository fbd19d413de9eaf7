"""`POST /responses`: the Responses API, answered by a chat (reference 004, the Responses API). Pure."""

from collections.abc import Mapping
from typing import Any, Final

from inference.refusals import RowError
from inference.requests import response_answers, responses
from inference.requests.bodies import refused
from inference.requests.profiles import Profile
from inference.requests.responses import Echo
from inference.requests.translation import Translated
from realtime.chat.protocol import Head, Protocol
from realtime.chat.whole import Whole
from realtime.responses.events import Writer


class _Whole(Whole):
    def __init__(self, head: Head, echo: Echo, *, logprobs: bool) -> None:
        super().__init__(head, logprobs=logprobs)
        self._echo = echo

    def body(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        return response_answers.as_response(super().body(usage), self._echo)


def _translate(body: dict[str, Any], profile: Profile) -> Translated[Echo]:
    try:
        return responses.translate(body, refuses_unknown=profile.refuses_unknown)
    except RowError as error:
        raise refused(error, profile) from None


RESPONSES: Final = Protocol(
    surface="responses",
    id_prefix=response_answers.ID_PREFIX,
    translate=_translate,
    events=lambda head, asked, echo: Writer(head, echo),
    whole=lambda head, asked, echo: _Whole(head, echo, logprobs=asked.top_logprobs is not None),
)
