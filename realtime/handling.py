"""What every realtime call does around its own work: read, admit, refuse in the words of the surface."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import orjson
from django.conf import settings

from accounts.selectors import organizations
from accounts.services import keys
from anex.core import log_ids, tracing
from anex.core.asgi import App, ClientGone, Receive, Scope, Send
from anex.core.errors import AnexError, InvalidRequest, Unprocessable
from anex.core.money import format_credits
from anex.core.usage import Usage
from billing import request_keys
from billing.request_keys import Kind, RequestKey
from inference import catalogue
from inference.backends.answers import Answer
from inference.backends.faults import UpstreamError
from inference.backends.overflow import Field, read_overflow
from inference.catalogue.schema import Model, Task
from inference.requests import bodies, model_names
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
        exchange, house = Exchange(scope, receive, send, profile), scope["state"]["realtime"]
        try:
            exchange.require_method(*methods)
            await handler(exchange, house)
        except ClientGone:
            return
        except Exception as error:
            told = errors.shown(error)
            if not isinstance(error, AnexError | UpstreamError | TimeoutError):
                log.exception("%s failed", exchange.request_id)
            elif not isinstance(error, AnexError):
                log.warning("%s: %s", exchange.request_id, error)
            if exchange.answered and not exchange.fills:
                raise
            if exchange.recorder and exchange.request_key:
                told.extra.setdefault("idempotency_key", exchange.request_key.text)
            if exchange.request_key:
                # What failed has given its key back by the time its client sends it again.
                await house.till.settled(f"req:{exchange.request_id}")
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
    key_id, _ = keys.credential(header)
    named: list[str] = []
    try:
        raw = await exchange.body(lambda: _check_key(exchange, None), decodes=decodes)
        body = await aside(exchange.is_long, bodies.decode, raw, profile=exchange.profile)
        if exchange.profile.offered_as == "openai" and task != "decide":
            kind: Kind = "chat" if task == "chat" else "embeddings"
            exchange.request_key = await _request_key(exchange, raw, body, kind, key_id)
        named.append(bodies.model_id(body, profile=exchange.profile))
        if exchange.profile.reads_levels:
            named[0] = next(filter(catalogue.get, model_names.readings(named[0])), named[0])
        offer = offers.find(named[0], task, profile=exchange.profile, servers=house.servers)
        if offer.model.organization is not None:
            await _check_key(exchange, offer.model)
        return offer, await aside(exchange.is_long, read, body, offer.model, exchange.profile)
    except AnexError:
        await _check_key(exchange, catalogue.get(named[0]) if named else None)
        raise


async def _request_key(
    exchange: Exchange, raw: bytes, body: dict[str, Any], kind: Kind, key_id: str
) -> RequestKey | None:
    """The idempotency key a request comes under; what it says of one is taken out of its body."""
    told = exchange.header(b"idempotency-key")
    # Clients send it as UTF-8; in a path it is read as such.
    told = told and told.encode("latin-1").decode(errors="surrogateescape")
    field = body.pop(request_keys.FIELD, None)
    if field is not None and kind == "embeddings" and not (type(field) is str and request_keys.is_plain(field)):
        raise InvalidRequest(
            "idempotency_key must be 1 to 64 letters, digits, '.', '-' or '_'.",
            code="invalid_idempotency_key",
            param=request_keys.FIELD,
        )
    if not told and field is not None:
        told = field if type(field) is str else orjson.dumps(field).decode()
    path = exchange.scope["path"]
    if told and not told.isspace():
        return await aside(exchange.is_long, request_keys.named, told, kind, path=path, body=raw)
    if exchange.profile.derives_keys and kind == "chat":
        return await aside(exchange.is_long, request_keys.derived, key_id, kind, path=path, body=raw)
    return None


async def _check_key(exchange: Exchange, model: Model | None) -> None:
    """Raise what is wrong with key or plan before what is wrong with the body; a foreign model does not exist."""
    caller = await in_thread(keys.authenticate, exchange.header(b"authorization"))
    if exchange.profile.obeys_plans:
        caller.plan.require_generate()
    if model is not None and not model.is_for(caller.organization_id):
        raise offers.unknown(model.id)


async def admit(exchange: Exchange, house: House, offer: Offer, *, surface: str, most: Usage) -> Meter:
    """The meter of a request that may run, under the id that its answer tells.

    Raises as `Till.admit`, KeyTaken (409) among it; in the EEA also Forbidden (403) for an organization without EU data
    routing.
    """
    if settings.ANEX_REGION == "eu":
        await in_thread(_check_routing, exchange.header(b"authorization"))
    realtime = offer.model.realtime
    with tracing.span("admit"):
        meter = await house.till.admit(
            exchange.header(b"authorization"),
            surface=surface,
            card=offer.card,
            most=most,
            model_limit=realtime.concurrency if realtime else None,
            request_key=exchange.request_key,
            request_id=exchange.request_id,
        )
    log_ids.add(organization=meter.admitted.caller.organization_id)
    if exchange.profile.tells_charge:
        exchange.note(b"x-anex-job-id", meter.admitted.request_id)
    return meter


def tell_charge(exchange: Exchange, nano: int) -> None:
    """Tell what an answer cost, in credits; one that was begun before it was there cannot."""
    exchange.note(b"x-anex-credits-charged", format_credits(nano))


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
