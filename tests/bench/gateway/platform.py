"""Anex as it is measured: production's settings, one web process, its own Postgres with durable commits and Valkey.

The models are those of the stand-in server, in a folder of the operator's; the edge's rates, the requests in flight and
the balance of the organization are large enough never to be met.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.bench.gateway.shots import Target
from tests.stack import ROOT, Stack

IN_FLIGHT: Final = 256
_CHAT: Final = """\
id: {id}
task: chat
context_tokens: 131072
max_output_tokens: 8192
reasoning: none
tokenizer: words
realtime: {{surfaces: [openai], parameters: [temperature, top_p, max_tokens, stop, seed, tools, response_format]}}
"""
_EMBED: Final = """\
id: {id}
task: embed
context_tokens: 8192
embedding: {{dimensions: 256, min_dimensions: 32}}
tokenizer: words
realtime: {{surfaces: [openai, native], parameters: [dimensions, encoding_format]}}
"""
MODELS: Final = {
    "fake": _CHAT,
    "fake-paced": _CHAT,
    "fake-embed": _EMBED,
    "fake-narrow": _EMBED.replace("256, min_dimensions: 32", "32, min_dimensions: 8"),
}
_PRICE: Final = """\
- model: {id}
  starts_at: 2025-01-01T00:00:00Z
  text: {{input: 100_000_000, output: 400_000_000}}
  realtime: {{input: 200_000_000, output: 800_000_000}}
"""
_CONFIGURE: Final = """
import django
django.setup()
from accounts.models import Organization
from accounts.services import organizations
from anex.core.actors import system
from inference.backends import registry
(organization,) = Organization.objects.all()
organizations.limit_in_flight(
    organization_id=organization.pk, limit={in_flight}, actor=system("setup"), reason="measured"
)
for model in {models}:
    registry.configure(model_id=model, base_url="http://127.0.0.1:{port}/v1", served_name=model,
                       concurrency={concurrency}, actor=system("setup"))
"""


def stack(state: Path, *, workers: int = 0) -> Stack:
    """The platform, to be entered."""
    prices = state / "models" / "prices"
    prices.mkdir(parents=True)
    for model, facts in MODELS.items():
        (state / "models" / f"{model}.yaml").write_text(facts.format(id=model))
        (prices / f"{model}.yaml").write_text(_PRICE.format(id=model))
    return Stack(
        state,
        workers=workers,
        environment={
            "DJANGO_SETTINGS_MODULE": "anex.settings.production",
            "SECRET_KEY": "only-of-this-benchmark-0123456789-0123456789-0123456789",
            "ALLOWED_HOSTS": "127.0.0.1",
            "SECURE_SSL_REDIRECT": "false",
            "ANEX_MODELS_DIR": str(state / "models"),
            "ANEX_KEY_RATE": "1000000000 per 10 seconds",
            "ANEX_ADDRESS_RATE": "1000000000 per 10 seconds",
        },
    )


def configure(running: Stack, upstream: int, *, concurrency: int = IN_FLIGHT) -> Target:
    """Name the stand-in as the server of the models; everything that Anex needs for a request."""
    setup = _CONFIGURE.format(in_flight=IN_FLIGHT, models=list(MODELS), port=upstream, concurrency=concurrency)
    environment = running.environment | {"ANEX_LOG_LEVEL": "WARNING"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", setup], cwd=ROOT, env=environment, check=True)
    pids = running.pids()
    needed = {name: pids[name] for name in ("web", "postgres", "valkey")}
    return Target("anex", running.web_port, running.secret, needed)
