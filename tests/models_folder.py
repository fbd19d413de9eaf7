"""A folder of an operator's models, as ANEX_MODELS_DIR names one; the fixture `operator` is an empty one."""

from pathlib import Path
from typing import Any

from billing import price_cards
from inference.catalogue import include

CHAT = "id: m\ntask: chat\ncontext_tokens: 10\nmax_output_tokens: 5\n"
PRICE = "- model: {id}\n  starts_at: 2025-01-01T00:00:00Z\n  text: {{input: 100_000_000, output: 500_000_000}}\n"


class ModelsFolder:
    """The folder; each change is read at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        include(path)

    def add(self, model_id: str, **facts: Any) -> None:
        """A chat model, with facts besides the four it needs."""
        lines = "".join(f"{name}: {fact}\n" for name, fact in facts.items())
        (self.path / f"{model_id}.yaml").write_text(CHAT.replace("id: m", f"id: {model_id}") + lines)
        include(self.path)

    def price(self, model_id: str) -> None:
        """A price card, so that the model is sold."""
        (self.path / "prices").mkdir(exist_ok=True)
        (self.path / "prices" / f"{model_id}.yaml").write_text(PRICE.format(id=model_id))
        price_cards.load.cache_clear()
