"""Objects in a bucket of S3 or of a server that speaks its protocol.

Reads are range requests of BLOCK_BYTES with `If-Match`, each answered and retried on its own, so a slow consumer
holds no connection open. Writes are multipart uploads of one part in memory.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.utils.http import content_disposition_header
from urllib3.exceptions import HTTPError

from anex.core import clock, patience
from jobs.storage.interface import BLOCK_BYTES, ObjectChanged, ObjectMissing, Stored, StoreUnavailable, UploadTarget
from jobs.storage.policy import RETURN_FIELD

MIB = 1024 * 1024
DEFAULT_PART_BYTES = 16 * MIB
MAX_PARTS = 10_000
DELETE_BATCH = 1000


def part_bytes(total_bytes: int | None) -> int:
    """The size of a part: 16 MiB, or as many whole MiB as let `total_bytes` fit into S3's 10,000 parts."""
    needed = -(-(total_bytes or 0) // MAX_PARTS)
    return max(DEFAULT_PART_BYTES, -(-needed // MIB) * MIB)


def connect(*, endpoint_url: str, region: str) -> Any:
    """A thread-safe client with this process's patience. An endpoint of one's own is addressed by path, not by host."""
    config = Config(
        signature_version="s3v4",
        connect_timeout=5,
        read_timeout=patience.chosen().store_s,
        retries={"mode": "standard", "max_attempts": patience.chosen().store_tries},
        max_pool_connections=50,
        s3={"addressing_style": "path" if endpoint_url else "auto"},
        # Servers other than AWS send no checksum with a range, and some refuse to be sent one.
        response_checksum_validation="when_required",
        request_checksum_calculation="when_required",
    )
    return boto3.session.Session().client("s3", endpoint_url=endpoint_url or None, region_name=region, config=config)


class S3Writer:
    """A multipart upload; an object smaller than one part is put whole."""

    def __init__(self, client: Any, bucket: str, key: str, part_size: int) -> None:
        self._client = client
        self._where = {"Bucket": bucket, "Key": key}
        self._part_size = part_size
        self._buffer = bytearray()
        self._size = 0
        self._upload_id = ""
        self._parts: list[dict[str, Any]] = []
        self._stored: Stored | None = None

    def write(self, data: bytes) -> None:
        """Append; sends a part whenever one is full."""
        rest = memoryview(data)
        while rest:
            room = self._part_size - len(self._buffer)
            self._buffer += rest[:room]
            rest = rest[room:]
            if len(self._buffer) == self._part_size:
                self._send_part()

    @property
    def stored(self) -> Stored:
        """The finished object."""
        if self._stored is None:
            raise RuntimeError("The object is not finished: leave the writer's block first.")
        return self._stored

    def finish(self) -> None:
        """Send the rest and make the object appear."""
        with _s3_errors(self._where["Key"]):
            if self._upload_id:
                if self._buffer:
                    self._send_part()
                answer = self._client.complete_multipart_upload(
                    **self._where, UploadId=self._upload_id, MultipartUpload={"Parts": self._parts}
                )
            else:
                self._size = len(self._buffer)
                answer = self._client.put_object(**self._where, Body=bytes(self._buffer))
        self._stored = Stored(self._where["Key"], self._size, answer["ETag"].strip('"'))

    def abort(self) -> None:
        """Forget what was sent. If that fails too, `discard_unfinished` finds it later."""
        if self._upload_id:
            with suppress(BotoCoreError, ClientError):
                self._client.abort_multipart_upload(**self._where, UploadId=self._upload_id)

    def _send_part(self) -> None:
        with _s3_errors(self._where["Key"]):
            if not self._upload_id:
                self._upload_id = self._client.create_multipart_upload(**self._where)["UploadId"]
            number = len(self._parts) + 1
            answer = self._client.upload_part(
                **self._where, UploadId=self._upload_id, PartNumber=number, Body=bytes(self._buffer)
            )
        self._parts.append({"PartNumber": number, "ETag": answer["ETag"]})
        self._size += len(self._buffer)
        self._buffer.clear()


class S3Store:
    """The store of one region: a bucket."""

    def __init__(self, client: Any, bucket: str) -> None:
        self.bucket = bucket
        self._client = client

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process opens a client of its own, in the way of `connect`."""
        meta = self._client.meta
        own_endpoint = meta.config.s3["addressing_style"] == "path"
        return _reopen, (meta.endpoint_url if own_endpoint else "", meta.region_name, self.bucket)

    def put(self, key: str, data: bytes) -> Stored:
        """See Store."""
        with _s3_errors(key):
            answer = self._client.put_object(Bucket=self.bucket, Key=key, Body=data)
        return Stored(key, len(data), answer["ETag"].strip('"'))

    def add(self, key: str, data: bytes) -> None:
        """See Store."""
        self.put(key, data)

    @contextmanager
    def writer(self, key: str, *, total_bytes: int | None = None) -> Iterator[S3Writer]:
        """See Store."""
        writer = S3Writer(self._client, self.bucket, key, part_bytes(total_bytes))
        try:
            yield writer
            writer.finish()
        except BaseException:
            writer.abort()
            raise

    def read(self, key: str, *, etag: str | None = None) -> bytes:
        """See Store."""
        return self._get(key, etag)

    def read_range(self, key: str, start: int, end: int, *, etag: str | None = None) -> bytes:
        """See Store."""
        if start >= end:
            self._head(key, etag)
            return b""
        return self._get(key, etag, Range=f"bytes={start}-{end - 1}")

    def stream(self, key: str, *, etag: str | None = None, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """See Store."""
        stored = self._head(key, etag)
        stop = stored.size if end is None else min(end, stored.size)
        for offset in range(start, stop, BLOCK_BYTES):
            yield self.read_range(key, offset, min(offset + BLOCK_BYTES, stop), etag=stored.etag)

    def stat(self, key: str) -> Stored | None:
        """See Store."""
        try:
            return self._head(key, None)
        except ObjectMissing:
            return None

    def list(self, prefix: str) -> Iterator[Stored]:
        """See Store."""
        with _s3_errors(prefix):
            for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix):
                for item in page.get("Contents", ()):
                    yield Stored(item["Key"], item["Size"], item["ETag"].strip('"'))

    def delete(self, keys: Iterable[str]) -> None:
        """See Store."""
        names, failed = iter(keys), list[dict[str, Any]]()
        while batch := [{"Key": key} for key in islice(names, DELETE_BATCH)]:
            with _s3_errors(batch[0]["Key"]):
                answer = self._client.delete_objects(Bucket=self.bucket, Delete={"Objects": batch, "Quiet": True})
            failed += answer.get("Errors", ())
        if failed:
            raise StoreUnavailable(f"{len(failed)} objects could not be deleted ({failed[0].get('Code')}).")

    def discard_unfinished(self, *, before: datetime, key: str = "") -> int:
        """See Store."""
        dropped = 0
        with _s3_errors("unfinished uploads"):
            pages = self._client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(Bucket=self.bucket, Prefix=key):
                for upload in page.get("Uploads", ()):
                    if upload["Initiated"] < before and key in ("", upload["Key"]):
                        self._client.abort_multipart_upload(
                            Bucket=self.bucket, Key=upload["Key"], UploadId=upload["UploadId"]
                        )
                        dropped += 1
        return dropped

    def presign_upload(
        self, key: str, *, max_bytes: int, expires_at: datetime, return_to: str | None = None
    ) -> UploadTarget:
        """See Store."""
        more = {RETURN_FIELD: return_to} if return_to else {}
        with _s3_errors(key):
            target = self._client.generate_presigned_post(
                self.bucket,
                key,
                Fields=dict(more),
                Conditions=[["content-length-range", 0, max_bytes], *({name: url} for name, url in more.items())],
                ExpiresIn=int((expires_at - clock.now()).total_seconds()),
            )
        return UploadTarget(target["url"], target["fields"])

    def presign_download(self, key: str, *, expires_in_s: int, filename: str) -> str:
        """See Store."""
        disposition = content_disposition_header(True, filename) or "attachment"
        with _s3_errors(key):
            url: str = self._client.generate_presigned_url(
                "get_object",
                Params={"Bucket": self.bucket, "Key": key, "ResponseContentDisposition": disposition},
                ExpiresIn=expires_in_s,
            )
        return url

    def _head(self, key: str, etag: str | None) -> Stored:
        with _s3_errors(key):
            answer = self._client.head_object(Bucket=self.bucket, Key=key, **_if_match(etag))
        return Stored(key, answer["ContentLength"], answer["ETag"].strip('"'))

    def _get(self, key: str, etag: str | None, **options: str) -> bytes:
        with _s3_errors(key):
            try:
                answer = self._client.get_object(Bucket=self.bucket, Key=key, **_if_match(etag), **options)
                body: bytes = answer["Body"].read()
            except ClientError as error:
                # The range begins where the object ends: nothing is there, as with a file.
                if _code(error) == "InvalidRange":
                    return b""
                raise
        return body


def _reopen(endpoint_url: str, region: str, bucket: str) -> S3Store:
    return S3Store(connect(endpoint_url=endpoint_url, region=region), bucket)


def _if_match(etag: str | None) -> dict[str, str]:
    return {} if etag is None else {"IfMatch": f'"{etag}"'}


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


@contextmanager
def _s3_errors(key: str) -> Iterator[None]:
    """Turn botocore's errors into the store's. HEAD answers have no body: their code is the status."""
    try:
        yield
    except ClientError as error:
        match _code(error):
            case "NoSuchKey" | "404":
                raise ObjectMissing(f"No object is stored as {key}.") from None
            case "PreconditionFailed" | "412":
                raise ObjectChanged(f"The object {key} was replaced.") from None
            case code:
                raise StoreUnavailable(f"The store refused a request ({code}).") from error
    except (BotoCoreError, HTTPError) as error:
        raise StoreUnavailable(f"The store cannot be reached ({type(error).__name__}).") from error
