"""What every realtime call does around its own work: read, admit, refuse in the words of the surface."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from django.conf import settings

from accounts.selectors import organizations
from accounts.services import keys
from anex.core.asgi import App, ClientGone, Receive, Scope, Send
from anex.core.errors import AnexError, InvalidRequest, Unprocessable
from anex.core.usage import Usage
from inference import catalogue
from inference.backends.answers import Answer
from inference.backends.faults import UpstreamError
from inference.backends.overflow import Field, read_overflow
from inference.catalogue.schema import Model, Task
from inference.requests import bodies
from inference.requests.profiles import Profile
from realtime import errors, offers
from realtime.house import House
from realtime.http import Exchange
from realtime.meter import Meter
from realtime.offers import Offer
from realtime.threads import aside, in_thread

log = logging.getLogger(__name__)

_UNANSWERABLE: Final = 422
_INPUTS: Final[dict[Task, Field]] = {"chat": "messages", "embed": "input", "decide": "state"}

R = TypeVar("R")
Handler = Callable[[Exchange, House], Awaitable[None]]


def endpoint(handler: Handler, profile: Profile, *methods: str) -> App:
    """The ASGI application of one path; whatever goes wrong before the answer began is answered."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(scope, receive, send, profile)
        try:
            exchange.require_method(*methods)
            await handler(exchange, scope["state"]["realtime"])
        except ClientGone:
            return
        except Exception as error:
            told = errors.shown(error)
            if not isinstance(error, AnexError | UpstreamError | TimeoutError):
                log.exception("%s failed", exchange.request_id)
            elif not isinstance(error, AnexError):
                log.warning("%s: %s", exchange.request_id, error)
            if exchange.answered:
                raise
            await exchange.refuse(told)

    return answer


async def read_request(
    exchange: Exchange,
    house: House,
    task: Task,
    read: Callable[[dict[str, Any], Model, Profile], R],
    *,
    decodes: bool = False,
) -> tuple[Offer, R]:
    """The model a body names and the request it holds, or the refusal; nobody without a key learns more than that.

    Nor is a long body kept for them.
    """
    header = exchange.header(b"authorization")
    if header is None and exchange.profile.offered_as == "native":
        raise keys.missing()
    keys.credential(header)
    named: list[str] = []
    try:
        raw = await exchange.body(lambda: _check_key(exchange, None), decodes=decodes)
        body = await aside(exchange.is_long, bodies.decode, raw, profile=exchange.profile)
        named.append(bodies.model_id(body, profile=exchange.profile))
        offer = offers.find(named[0], task, profile=exchange.profile, servers=house.servers)
        if offer.model.organization is not None:
            await _check_key(exchange, offer.model)
        return offer, await aside(exchange.is_long, read, body, offer.model, exchange.profile)
    except AnexError:
        await _check_key(exchange, catalogue.get(named[0]) if named else None)
        raise


async def _check_key(exchange: Exchange, model: Model | None) -> None:
    """Raise what is wrong with key or plan before what is wrong with the body; a foreign model does not exist."""
    caller = await in_thread(keys.authenticate, exchange.header(b"authorization"))
    if exchange.profile.obeys_plans:
        caller.plan.require_generate()
    if model is not None and not model.is_for(caller.organization_id):
        raise offers.unknown(model.id)


async def admit(exchange: Exchange, house: House, offer: Offer, *, surface: str, most: Usage) -> Meter:
    """The meter of a request that may run; its id is the answer's from here on.

    Raises as `Till.admit`; in the EEA also Forbidden (403) for an organization without EU data routing.
    """
    if settings.ANEX_REGION == "eu":
        await in_thread(_check_routing, exchange.header(b"authorization"))
    realtime = offer.model.realtime
    meter = await house.till.admit(
        exchange.header(b"authorization"),
        surface=surface,
        card=offer.card,
        most=most,
        model_limit=realtime.concurrency if realtime else None,
    )
    exchange.request_id = meter.admitted.request_id
    return meter


def _check_routing(header: str | None) -> None:
    if not organizations.routes_to_eu(keys.authenticate(header).organization_id):
        raise organizations.not_routed_to_eu()


def refusal(answer: Answer, model: Model) -> AnexError:
    """A server's refusal of a request, as it is told: that it is too long in one form, all else in its words."""
    if overflow := read_overflow(answer.status, answer.body, context=model.context_tokens, field=_INPUTS[model.task]):
        return overflow
    told = answer.body.get("error")
    words = told.get("message") if isinstance(told, dict) else None
    message = words if isinstance(words, str) and words else "The model refuses this request."
    return Unprocessable(message) if answer.status == _UNANSWERABLE else InvalidRequest(message)
