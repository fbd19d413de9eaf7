"""Permissions to upload and download that travel with the request, as S3 presigns them. Pure: no clock, no disk.

An upload is a form whose `policy` field lists what the other fields must be; a download is a link. Both are signed
with AWS Signature Version 4: a key derived from the secret, the day, the region and the service. Refusals carry
S3's codes and statuses, so a client written for S3 meets nothing new.
"""

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

ALGORITHM = "AWS4-HMAC-SHA256"
# Where a form may say that a browser goes on from its upload.
RETURN_FIELD = "success_action_redirect"
# What the signature itself consists of; every other field must be named by the policy (S3, "POST policy").
_UNLISTED = frozenset({"policy", "x-amz-signature"})
_REQUIRED = ("key", "policy", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature")
_LINK_FIELDS = frozenset(
    {
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Date",
        "X-Amz-Expires",
        "X-Amz-Signature",
        "response-content-disposition",
    }
)


class Refused(Exception):
    """The request is not what was signed; rendered as S3's XML."""

    def __init__(self, code: str, status: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.message = message

    def xml(self) -> bytes:
        """S3's error document."""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{escape(self.code)}</Code><Message>{escape(self.message)}</Message></Error>"
        ).encode()


@dataclass(frozen=True, slots=True)
class Signer:
    """Whose signatures count, and for which bucket."""

    access_key: str
    secret: str
    region: str
    bucket: str

    def scope(self, day: str) -> str:
        """The credential scope of a day written as YYYYMMDD."""
        return f"{day}/{self.region}/s3/aws4_request"

    def credential(self, day: str) -> str:
        """The credential as requests name it."""
        return f"{self.access_key}/{self.scope(day)}"

    def sign(self, day: str, text: str) -> str:
        """The hexadecimal signature of `text`."""
        key = f"AWS4{self.secret}".encode()
        for step in (day, self.region, "s3", "aws4_request"):
            key = hmac.digest(key, step.encode(), hashlib.sha256)
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class Grant:
    """An upload that may go ahead: this key, and a size in bytes within these bounds, both included."""

    key: str
    min_bytes: int
    max_bytes: int


def too_large() -> Refused:
    """The file passes the policy's upper bound."""
    return Refused("EntityTooLarge", 400, "Your proposed upload exceeds the maximum allowed size")


def too_small() -> Refused:
    """The file stays below the policy's lower bound."""
    return Refused("EntityTooSmall", 400, "Your proposed upload is smaller than the minimum allowed size")


def sign_upload(
    signer: Signer, *, key: str, max_bytes: int, expires_at: datetime, now: datetime, return_to: str | None = None
) -> dict[str, str]:
    """The form fields that allow one upload of 0 to `max_bytes` bytes under `key` until `expires_at`.

    With `return_to` they name the URL that the one who uploads is sent on to.
    """
    stamp = _stamp(now)
    fields = {
        "key": key,
        **({RETURN_FIELD: return_to} if return_to else {}),
        "x-amz-algorithm": ALGORITHM,
        "x-amz-credential": signer.credential(stamp[:8]),
        "x-amz-date": stamp,
    }
    conditions: list[Any] = [{"bucket": signer.bucket}, ["content-length-range", 0, max_bytes]]
    conditions += [{name: value} for name, value in fields.items()]
    document = {"expiration": _iso(expires_at), "conditions": conditions}
    policy = base64.b64encode(json.dumps(document).encode()).decode()
    return fields | {"policy": policy, "x-amz-signature": signer.sign(stamp[:8], policy)}


def check_upload(signer: Signer, fields: Mapping[str, str], *, now: datetime) -> Grant:
    """Whether the form fields before the file allow an upload; names of fields in lower case. Raises Refused."""
    for name in _REQUIRED:
        if name not in fields:
            raise _field_missing(name)
    _check_signature(
        signer,
        algorithm=fields["x-amz-algorithm"],
        credential=fields["x-amz-credential"],
        stamp=fields["x-amz-date"],
        text=fields["policy"],
        signature=fields["x-amz-signature"],
    )
    expires_at, conditions = _read_policy(fields["policy"])
    if now >= expires_at:
        raise _denied("Invalid according to Policy: Policy expired.")
    named, bounds = _match(conditions, {"bucket": signer.bucket, **fields})
    extra = sorted(set(fields) - named - _UNLISTED)
    if extra:
        raise _denied(f"Invalid according to Policy: Extra input fields: {', '.join(extra)}")
    if not {"key", "bucket"} <= named:
        raise _denied("Invalid according to Policy: the policy names no key or no bucket.")
    return Grant(fields["key"], *bounds)


def sign_link(signer: Signer, *, path: str, disposition: str, expires_in_s: int, now: datetime) -> dict[str, str]:
    """The query of a link that reads `path` for `expires_in_s` seconds and answers with this Content-Disposition."""
    stamp = _stamp(now)
    query = {
        "X-Amz-Algorithm": ALGORITHM,
        "X-Amz-Credential": signer.credential(stamp[:8]),
        "X-Amz-Date": stamp,
        "X-Amz-Expires": str(expires_in_s),
        "response-content-disposition": disposition,
    }
    return query | {"X-Amz-Signature": signer.sign(stamp[:8], _link_text(signer, path, query))}


def check_link(signer: Signer, *, path: str, query: Mapping[str, str], now: datetime) -> str:
    """Whether a link may be followed; answers its Content-Disposition. Raises Refused."""
    if set(query) != _LINK_FIELDS:
        raise _denied("Access Denied")
    _check_signature(
        signer,
        algorithm=query["X-Amz-Algorithm"],
        credential=query["X-Amz-Credential"],
        stamp=query["X-Amz-Date"],
        text=_link_text(signer, path, query),
        signature=query["X-Amz-Signature"],
    )
    # Signed by us, so both parse.
    signed_at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if now >= signed_at + timedelta(seconds=int(query["X-Amz-Expires"])):
        raise _denied("Request has expired")
    return query["response-content-disposition"]


def _check_signature(signer: Signer, *, algorithm: str, credential: str, stamp: str, text: str, signature: str) -> None:
    if algorithm != ALGORITHM:
        raise Refused("InvalidArgument", 400, f"The algorithm must be {ALGORITHM}")
    access_key = credential.partition("/")[0]
    if access_key != signer.access_key:
        raise Refused("InvalidAccessKeyId", 403, "The access key id is not known here.")
    expected = signer.sign(stamp[:8], text)
    genuine = hmac.compare_digest(expected.encode(), signature.encode())
    if not genuine or credential != signer.credential(stamp[:8]):
        raise Refused("SignatureDoesNotMatch", 403, "The signature is not the one of this request.")


def _link_text(signer: Signer, path: str, query: Mapping[str, str]) -> str:
    """SigV4's string to sign. No header is signed: a proxy may serve the link under another host name."""
    signed = sorted((name, value) for name, value in query.items() if name != "X-Amz-Signature")
    request = "\n".join(("GET", quote(path), urlencode(signed, quote_via=quote, safe=""), "", "", "UNSIGNED-PAYLOAD"))
    stamp = query["X-Amz-Date"]
    digest = hashlib.sha256(request.encode()).hexdigest()
    return "\n".join((ALGORITHM, stamp, signer.scope(stamp[:8]), digest))


def _read_policy(policy: str) -> tuple[datetime, list[Any]]:
    try:
        document = json.loads(base64.b64decode(policy, validate=True))
        return datetime.fromisoformat(document["expiration"]), list(document["conditions"])
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise Refused("InvalidPolicyDocument", 400, "The policy cannot be read.") from error


def _match(conditions: list[Any], fields: Mapping[str, str]) -> tuple[set[str], tuple[int, int]]:
    """Names the conditions speak of and the allowed sizes; a condition that does not hold is refused."""
    named: set[str] = set()
    bounds: tuple[int, int] | None = None
    for condition in conditions:
        match condition:
            case ["content-length-range", int(low), int(high)]:
                bounds = (low, high)
            case dict() if condition and all(fields.get(name) == value for name, value in condition.items()):
                named.update(condition)
            case _:
                raise _denied(f"Invalid according to Policy: Policy Condition failed: {json.dumps(condition)}")
    if bounds is None:
        raise _denied("Invalid according to Policy: the policy bounds no size.")
    return named, bounds


def _field_missing(name: str) -> Refused:
    if name == "policy":
        return _denied("Access Denied")
    message = (
        f"Bucket POST must contain a field named '{name}'. If it is specified, please check the order of the fields."
    )
    return Refused("InvalidArgument", 400, message)


def _denied(message: str) -> Refused:
    return Refused("AccessDenied", 403, message)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
