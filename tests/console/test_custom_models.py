"""A custom model is seen by its own organization's people only."""

import pytest

from anex.core.actors import system
from inference.backends import registry
from tests.factories import make_organization


@pytest.fixture
def custom(operator, acme):
    """A model of Acme's and one of Globex's, both priced and served."""
    for name, owner in (("acme-chat", acme), ("globex-chat", make_organization("Globex"))):
        operator.add(name, tokenizer="server", organization=owner.pk)
        operator.price(name)
        registry.configure(model_id=name, base_url="http://10.0.0.5/v1", served_name="m", actor=system("test"))


@pytest.mark.parametrize("page", ["/jobs/new", "/keys"])
def test_pages_name_the_organization_s_own_model_and_no_other(ada, custom, page):
    html = ada.get(page).content.decode()
    assert 'value="acme-chat"' in html
    assert "globex-chat" not in html
