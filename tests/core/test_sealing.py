import pytest
from cryptography.fernet import InvalidToken

from anex.core import sealing


def test_sealed_secret_opens_for_its_purpose_alone():
    sealed = sealing.seal("secret", purpose="one")
    assert "secret" not in sealed
    assert sealing.unseal(sealed, purpose="one") == "secret"
    with pytest.raises(InvalidToken):
        sealing.unseal(sealed, purpose="other")


def test_another_key_opens_only_while_the_former_is_a_fallback(settings):
    sealed = sealing.seal("secret", purpose="one")
    former, settings.SECRET_KEY = settings.SECRET_KEY, "another"
    with pytest.raises(InvalidToken):
        sealing.unseal(sealed, purpose="one")
    settings.SECRET_KEY_FALLBACKS = [former]
    assert sealing.unseal(sealed, purpose="one") == "secret"
