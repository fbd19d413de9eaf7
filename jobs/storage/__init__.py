"""Where inputs, parts and results are kept: S3 when a bucket is named, else the local disk."""

from functools import lru_cache

from django.conf import settings
from django.utils.crypto import salted_hmac

from jobs.storage.interface import Store
from jobs.storage.local import LocalStore
from jobs.storage.regions import elsewhere


def store(region: str = "world") -> Store:
    """The region's store. A process reaches only that of its own region; otherwise raises what `elsewhere` says."""
    if region != settings.ANEX_REGION:
        raise elsewhere(region)
    if settings.ANEX_S3_BUCKET:
        return _s3(settings.ANEX_S3_BUCKET, settings.ANEX_S3_ENDPOINT_URL, settings.ANEX_S3_REGION)
    return local_store()


def local_store() -> LocalStore:
    """The local disk's store of the region this process serves."""
    region = settings.ANEX_REGION
    return LocalStore(
        settings.ANEX_STORAGE_DIR / region,
        region=region,
        public_url=settings.ANEX_PUBLIC_URL,
        secret=salted_hmac("anex.jobs.storage", region, algorithm="sha256").hexdigest(),
    )


@lru_cache(maxsize=4)
def _s3(bucket: str, endpoint_url: str, region: str) -> Store:
    # boto3 is slow to import, and only installations with a bucket need it. One client is enough for every thread.
    from jobs.storage.s3 import S3Store, connect

    return S3Store(connect(endpoint_url=endpoint_url, region=region), bucket)
