import pytest

from accounts.models import Organization
from accounts.services import names


@pytest.mark.django_db
@pytest.mark.parametrize("email", ['"\x01x"@example.com', '"\x01"@example.com', '"<b>"@example.com'])
def test_any_address_can_sign_up(client, email):
    form = {"email": email, "password1": "correct horse battery", "password2": "correct horse battery"}
    answer = client.post("/accounts/signup/", form)
    assert answer.status_code == 302
    assert names.clean(Organization.objects.get().name)
