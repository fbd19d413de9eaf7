"""A passkey in software: answers the console's challenges as a browser with a platform authenticator would."""

import hashlib
import json
import secrets
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData

ORIGIN, HOST = "https://testserver", "testserver"
_VERIFIED = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV


class Passkey:
    """One credential for one site."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.credential_id = secrets.token_bytes(32)
        self._user_handle = ""

    def create(self, options: dict[str, Any]) -> dict[str, Any]:
        """The answer to creation options."""
        public = options["publicKey"]
        self._user_handle = public["user"]["id"]
        cose = ES256.from_cryptography_key(self._key.public_key())
        credential = AttestedCredentialData.create(Aaguid.NONE, self.credential_id, cose)
        data = AuthenticatorData.create(self._site(), _VERIFIED | AuthenticatorData.FLAG.AT, 0, credential)
        answer = {
            "clientDataJSON": websafe_encode(self._client_data("webauthn.create", public["challenge"])),
            "attestationObject": websafe_encode(bytes(AttestationObject.create("none", data, {}))),
        }
        return self._credential(answer) | {"clientExtensionResults": {"credProps": {"rk": True}}}

    def get(self, options: dict[str, Any]) -> dict[str, Any]:
        """The answer to request options."""
        client_data = self._client_data("webauthn.get", options["publicKey"]["challenge"])
        data = bytes(AuthenticatorData.create(self._site(), _VERIFIED, 1))
        signature = self._key.sign(data + hashlib.sha256(client_data).digest(), ec.ECDSA(hashes.SHA256()))
        answer = {
            "clientDataJSON": websafe_encode(client_data),
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(signature),
            "userHandle": self._user_handle,
        }
        return self._credential(answer) | {"clientExtensionResults": {}}

    def _credential(self, answer: dict[str, str]) -> dict[str, Any]:
        identity = websafe_encode(self.credential_id)
        return {"id": identity, "rawId": identity, "type": "public-key", "response": answer}

    def _client_data(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": ORIGIN}).encode()

    def _site(self) -> bytes:
        return hashlib.sha256(HOST.encode()).digest()
