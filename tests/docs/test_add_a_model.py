"""The page "Add a model" is true: its steps, run as they are written, end in a model that is offered and counted."""

import re
import shlex
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from tokenizers import Tokenizer, models, pre_tokenizers

from anex.core.usage import Usage
from anex.settings.base import BASE_DIR
from inference.catalogue import include
from inference.catalogue.schema import Model
from inference.counting import gguf
from inference.requests.chat import ChatRow
from inference.requests.options import RowOptions
from inference.tokens import count_rows
from jobs.services.submissions import offered
from tests.factories import make_organization
from tests.models_folder import ModelsFolder

PAGE = BASE_DIR / "docs" / "add-a-model.md"
TEMPLATE = "{{ bos_token }}{% for m in messages %} {{ m.content }}{% endfor %}"


def make_checkpoint(folder: Path) -> None:
    """What a download from a hub leaves, as small as it can be."""
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordLevel({"?": 0, "<s>": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"bos_token": "<s>"}')
    (folder / "chat_template.jinja").write_text(TEMPLATE)


def run(step: str) -> str:
    """What a line of the page prints; `manage.py` runs in this process, so that it meets this database."""
    words = shlex.split(step)
    if words[:2] != ["python", "manage.py"]:
        subprocess.run(words, check=True)
        return ""
    out = StringIO()
    call_command(*words[2:], stdout=out)
    return out.getvalue()


def follow(page: str, folder: Path) -> list[str]:
    """Write the page's files and run its lines, in order; what each line printed."""
    printed = []
    for language, block in re.findall(r"```(yaml|sh)\n(.*?)```", page, re.DOTALL):
        if language == "yaml":
            path = Path(block.split(maxsplit=2)[1])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)
            continue
        printed += [run(line) for line in block.strip().splitlines()]
        include(folder)
    return printed


@pytest.mark.django_db
def test_page_leads_to_a_model_that_is_offered_and_counted(
    operator: ModelsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seconds for the weight file of another model, which other tests read.
    monkeypatch.setattr(gguf, "load", lambda weights: None)
    make_checkpoint(operator.path / "checkpoints" / "acme-chat")
    page = PAGE.read_text().replace("/srv/anex/models", str(operator.path)).replace("/srv", str(operator.path))
    first, *_, last = [text for text in follow(page, operator.path) if "models, no problem found" in text]
    assert "acme-chat                 not offered: no server" in first
    assert re.findall(r"```text\n(.*?)```", page, re.DOTALL)[0] in last
    model = offered("acme-chat", organization_id=make_organization().pk)
    row = ChatRow("r", [{"role": "user", "content": "three words here"}], {}, None, None)
    assert count_rows(model, [row], options=RowOptions()) == [Usage(input_tokens=4)]
    assert Client().get("/static/chat-templates/acme-chat.jinja").content == TEMPLATE.encode()


def test_page_explains_every_field() -> None:
    explained = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| `[^|]*\|", PAGE.read_text(), re.MULTILINE)))
    fields = set(Model.__struct_fields__) - {"media", "files"}
    assert fields <= set(explained)
