"""`manage.py backends`: list, set, remove and switch the servers that answer for models."""

import argparse
import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from anex.core.actors import Actor
from anex.core.errors import AnexError
from inference import catalogue
from inference.backends import registry


class Command(BaseCommand):
    """An operator's hand on the registry."""

    help = "List, set, remove or switch the servers that answer for models."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the five verbs."""
        verbs = parser.add_subparsers(dest="verb", required=True)
        verbs.add_parser("list", help="every server")
        put = verbs.add_parser("set", help="name a server for a model, or for several, and switch it on")
        put.add_argument("model", nargs="+")
        put.add_argument("url", help="up to and including /v1, e.g. http://10.0.0.5:8000/v1")
        put.add_argument("--served-name", default="", help="the model name the server knows (default: MODEL)")
        put.add_argument("--region", default="world")
        put.add_argument("--credential-env", default="", help="the environment variable that holds the server's key")
        put.add_argument("--concurrency", type=int, default=64, help="requests it is sent at a time")
        put.add_argument("--no-reuse", action="store_true", help="open a connection for every request")
        for verb, help_text in (("remove", "forget"), ("on", "switch on"), ("off", "switch off")):
            named = verbs.add_parser(verb, help=f"{help_text} a model's servers")
            named.add_argument("model")
            named.add_argument("url", nargs="?", default="", help="only the server at this address")
            named.add_argument("--region", default="", help="only the servers of this region")
            if verb == "off":
                named.add_argument("--reason", default="", help="why, as clients are told once all of them are off")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run one verb; what the registry refuses is told as a sentence."""
        verb, actor = options["verb"], Actor("staff", getpass.getuser())
        try:
            if verb == "list":
                self._list()
            elif verb == "set":
                for model_id in options["model"]:
                    self._set(model_id, options, actor)
            else:
                self._change(verb, options, actor)
        except AnexError as error:
            raise CommandError(error.message) from error

    def _list(self) -> None:
        for row in registry.every():
            state = "on" if row.enabled else "off"
            seen = f"{row.seen_at:%Y-%m-%d %H:%M:%S}" if row.seen_at else "-"
            columns = [row.model_id, row.region, row.base_url, row.served_name, row.source, state, row.version, seen]
            self.stdout.write("\t".join(columns))

    def _set(self, model_id: str, options: dict[str, Any], actor: Actor) -> None:
        if catalogue.get(model_id) is None:
            raise CommandError(f"The catalogue has no model {model_id!r}.")
        backend_id = registry.configure(
            model_id=model_id,
            base_url=options["url"],
            served_name=options["served_name"] or model_id,
            region=options["region"],
            credential_env=options["credential_env"],
            concurrency=options["concurrency"],
            reuse_connections=not options["no_reuse"],
            actor=actor,
        )
        self.stdout.write(f"Server {backend_id} answers for {model_id}.")

    def _change(self, verb: str, options: dict[str, Any], actor: Actor) -> None:
        named = {"model_id": options["model"], "base_url": options["url"], "region": options["region"]}
        if verb == "remove":
            count = registry.remove(**named, actor=actor)
        else:
            reason = options.get("reason", "")
            count = registry.switch(enabled=verb == "on", off_reason=reason, **named, actor=actor)
        self.stdout.write(f"{count} server{'' if count == 1 else 's'} of {options['model']}: {verb}.")
