"""The registry of model servers: who answers for a model in a region.

A configured server counts until an operator switches it off; a registered one while its starter renews it. What a
worker started for itself is registered, and marked as its own: rows of jobs come to it from that worker alone.
"""

import logging
import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, get_args
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from anex.core.actors import Actor
from anex.core.errors import InvalidRequest, NotFound, Unavailable
from anex.core.variables import variables
from inference.models import Backend

logger = logging.getLogger(__name__)

Region = Literal["world", "eu"]
LIVE_FOR = timedelta(seconds=30)
_FRESH = Q(source=Backend.Source.CONFIGURED) | Q(seen_at__gte=Now() - LIVE_FOR, seen_at__isnull=False)
_LONGEST_REASON = 500
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Server:
    """A model server as the client needs it; `api_key` is empty where it asks for none and never shown."""

    id: int
    model_id: str
    region: str
    base_url: str
    served_name: str
    api_key: str
    concurrency: int
    reuse_connections: bool
    is_workers: bool = False

    def __repr__(self) -> str:
        return f"Server({self.id}, {self.model_id!r}, {self.region!r}, {self.base_url!r})"


def live(region: str) -> list[Server]:
    """The servers that may be sent requests in a region now, oldest first.

    A server whose key's environment variable is not set in this process is left out: it would refuse every request.
    """
    rows = _fresh(region).order_by("id")
    return [server for row in rows if (server := _server(row)) is not None]


@dataclass(frozen=True, slots=True)
class Standing:
    """How the models of a region stand: the servers that may be sent requests, and of the others why there is none.

    `awaited` are those with a server that is switched on and was not heard of lately; `off` those an operator switched
    off, with the reason for clients.
    """

    servers: list[Server]
    awaited: frozenset[str]
    off: dict[str, str]


def standing(region: str) -> Standing:
    """Everything a region's registry says, in one query."""
    rows = list(Backend.objects.filter(region=region).annotate(fresh=_FRESH).order_by("id"))
    servers = [server for row in rows if row.enabled and row.fresh and (server := _server(row)) is not None]
    awaited = {row.model_id for row in rows if row.enabled}
    off = {row.model_id: row.off_reason for row in rows if row.off_reason and row.model_id not in awaited}
    return Standing(servers, frozenset(awaited), off)


def count_live(region: str) -> Counter[str]:
    """How many servers each model has in a region now, by its id."""
    return Counter(_fresh(region).values_list("model_id", flat=True))


def count_silent(region: str) -> int:
    """How many servers of a region are switched on and were not heard of lately."""
    return Backend.objects.filter(~_FRESH, region=region, enabled=True).count()


def is_served(model_id: str, region: str) -> bool:
    """Whether a region has a server of the model, if only one that is being started again just now."""
    return Backend.objects.filter(model_id=model_id, region=region, enabled=True).exists()


def off_reason(model_id: str, region: str) -> str:
    """Why an operator switched every server of a model in a region off, as clients are told; empty where none did."""
    rows = list(Backend.objects.filter(model_id=model_id, region=region).order_by("id"))
    return "" if any(row.enabled for row in rows) else next((row.off_reason for row in rows if row.off_reason), "")


def switched_off(model_id: str, reason: str) -> Unavailable:
    """The 503 of a model whose servers an operator switched off."""
    return Unavailable(f"The model '{model_id}' is switched off: {reason}.", code="vendor_disabled")


def every() -> list[Backend]:
    """Every row, for operators: by model, region and address."""
    return list(Backend.objects.order_by("model_id", "region", "base_url"))


def configure(
    *,
    model_id: str,
    base_url: str,
    served_name: str,
    region: str = "world",
    credential_env: str = "",
    concurrency: int = 64,
    reuse_connections: bool = True,
    actor: Actor,
) -> int:
    """Name a server, or change what is known of it, and switch it on; returns its id.

    A row that a worker had registered becomes a configured one. Raises InvalidRequest.
    """
    base_url = check(base_url=base_url, region=region, credential_env=credential_env, concurrency=concurrency)
    row, _ = Backend.objects.update_or_create(
        model_id=model_id,
        region=region,
        base_url=base_url,
        defaults={
            "served_name": served_name,
            "credential_env": credential_env,
            "concurrency": concurrency,
            "reuse_connections": reuse_connections,
            "source": Backend.Source.CONFIGURED,
            "enabled": True,
            "off_reason": "",
        },
    )
    logger.info("%s configured the server of %s at %s in %s", actor, model_id, base_url, region)
    return row.pk


def register(
    *,
    model_id: str,
    base_url: str,
    served_name: str,
    region: str = "world",
    credential_env: str = "",
    concurrency: int = 64,
    reuse_connections: bool = True,
    version: str = "",
    is_workers: bool = False,
    actor: Actor,
) -> int:
    """Announce a server that the caller started and will `renew`; returns its id. A worker says that it is its own.

    What an operator decided stays: a server switched off stays off, a configured row only learns the version.
    Raises InvalidRequest.
    """
    base_url = check(base_url=base_url, region=region, credential_env=credential_env, concurrency=concurrency)
    seen = {"version": version, "seen_at": Now()}
    offered = {
        "served_name": served_name,
        "credential_env": credential_env,
        "concurrency": concurrency,
        "reuse_connections": reuse_connections,
        "source": Backend.Source.WORKER if is_workers else Backend.Source.REGISTERED,
    }
    with transaction.atomic():
        row, created = Backend.objects.select_for_update().get_or_create(
            model_id=model_id,
            region=region,
            base_url=base_url,
            defaults={**offered, **seen},
        )
        if not created:
            known = seen if row.source == Backend.Source.CONFIGURED else {**offered, **seen}
            Backend.objects.filter(pk=row.pk).update(**known)
    logger.info("%s registered the server of %s at %s in %s", actor, model_id, base_url, region)
    return row.pk


def renew(*, backend_id: int) -> bool:
    """Say that a registered server is still there; False when its row is gone and it must register again."""
    return Backend.objects.filter(pk=backend_id).update(seen_at=Now()) == 1


def withdraw(*, backend_id: int, actor: Actor) -> None:
    """Take a registered server out of `live` at once; a configured row is the operator's and stays."""
    Backend.objects.filter(pk=backend_id).exclude(source=Backend.Source.CONFIGURED).update(seen_at=None)
    logger.info("%s withdrew server %s", actor, backend_id)


def switch(
    *, enabled: bool, model_id: str, base_url: str = "", region: str = "", off_reason: str = "", actor: Actor
) -> int:
    """Switch a model's servers on or off, all or those of an address or region; returns how many. Raises NotFound.

    Clients are told `off_reason`, in a sentence of ours; without one the model is only away.
    """
    told = "" if enabled else " ".join(off_reason.split())[:_LONGEST_REASON].rstrip(". ")
    changed = _named(model_id, base_url, region).update(enabled=enabled, off_reason=told)
    if not changed:
        raise NotFound(f"There is no such server of {model_id}.")
    logger.info("%s switched %s servers of %s %s", actor, changed, model_id, "on" if enabled else "off")
    return changed


def remove(*, model_id: str, base_url: str = "", region: str = "", actor: Actor) -> int:
    """Forget a model's servers, all or those of an address or region; returns how many. Raises NotFound."""
    removed, _ = _named(model_id, base_url, region).delete()
    if not removed:
        raise NotFound(f"There is no such server of {model_id}.")
    logger.info("%s removed %s servers of %s", actor, removed, model_id)
    return removed


def check(*, base_url: str, region: str, credential_env: str, concurrency: int) -> str:
    """The address without its last slash, once all that an operator can mistype is in order. Raises InvalidRequest."""
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or parts.username or len(base_url) > 200:
        raise InvalidRequest("Give the server's address as http://host:port/v1, without a user name.", param="base_url")
    if region not in get_args(Region):
        raise InvalidRequest("The region is world or eu.", param="region")
    if credential_env and not _ENVIRONMENT_NAME.fullmatch(credential_env):
        raise InvalidRequest(
            "Name the environment variable that holds the key, not the key itself.", param="credential_env"
        )
    if concurrency < 1:
        raise InvalidRequest("The concurrency is at least 1.", param="concurrency")
    return base_url.rstrip("/")


def _fresh(region: str) -> QuerySet[Backend]:
    return Backend.objects.filter(_FRESH, region=region, enabled=True)


def _named(model_id: str, base_url: str, region: str) -> QuerySet[Backend]:
    rows = Backend.objects.filter(model_id=model_id)
    if base_url:
        rows = rows.filter(base_url=base_url.rstrip("/"))
    return rows.filter(region=region) if region else rows


def key_in(variable: str) -> str:
    """The key that a variable, or the file that it names, holds in this process; empty where there is none."""
    try:
        return str(variables.get(variable, ""))
    except ImproperlyConfigured:
        return ""


def _server(row: Backend) -> Server | None:
    key = key_in(row.credential_env)
    if row.credential_env and not key:
        logger.warning("%s is left out: %s is not set in this process", row, row.credential_env)
        return None
    return Server(
        id=row.pk,
        model_id=row.model_id,
        region=row.region,
        base_url=row.base_url,
        served_name=row.served_name,
        api_key=key,
        concurrency=row.concurrency,
        reuse_connections=row.reuse_connections,
        is_workers=row.source == Backend.Source.WORKER,
    )
