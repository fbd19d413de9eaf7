"""How the API description is made (drf-spectacular); the views say what they take and answer."""

from typing import Any


def spectacular(public_url: str) -> dict[str, Any]:
    """The settings, for an installation that clients reach at `public_url`."""
    return {
        "OAS_VERSION": "3.1.0",
        "TITLE": "Anex batch inference API",
        "VERSION": "1",
        "DESCRIPTION": (
            "Send a file of requests to an open model, see what it will cost at most, approve it, and download one "
            "file with an answer per row.\n\n"
            "The calls in their usual order: createInput and the upload of the file, createJob, getJob until the "
            "status is `cost_ready`, approveJob, getJob until it is `done`, getJobResult for a download link. "
            "The estimate that is approved is held from the prepaid credits and is the most that is charged."
        ),
        "SERVERS": [{"url": f"{public_url}/batch/v1", "description": "Batch API"}],
        "TAGS": [
            {"name": "inputs", "description": "Getting a file of rows into storage."},
            {"name": "jobs", "description": "Submitting, approving, watching, stopping and downloading jobs."},
            {"name": "realtime", "description": "One embedding or decision request at a time."},
        ],
        "SCHEMA_PATH_PREFIX": r"/(batch|realtime)/v1",
        "SCHEMA_PATH_PREFIX_TRIM": True,
        "SORT_OPERATIONS": False,
        "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
        # Every enum stands where it is used, as in the reference.
        "POSTPROCESSING_HOOKS": [
            "anex.docs.description.loosen_unions",
            "realtime.openapi.describe",
            "anex.docs.description.declare_waits",
            "anex.docs.description.require_bodies",
        ],
    }
