import pytest

from accounts.models import Organization


@pytest.mark.django_db
def test_smoke():
    o = Organization.objects.create(name="x")
    assert Organization.objects.get(pk=o.pk).name == "x"
