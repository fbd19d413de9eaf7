"""The generated description names operations, statuses and fields as reference 003 does."""

import pytest
from drf_spectacular.generators import SchemaGenerator

from tests.jobs.api.test_get_job import OUR_FIELDS, REFERENCE_FIELDS

OPERATIONS = {
    ("/jobs", "post"): ("createJob", {"201", "400", "401", "402", "403", "404", "409", "421", "422", "429", "503"}),
    ("/jobs", "get"): ("listJobs", {"200", "401", "403", "422", "503"}),
    ("/jobs/{id}", "get"): ("getJob", {"200", "401", "403", "404", "503"}),
    ("/jobs/{id}/approve", "post"): ("approveJob", {"200", "401", "402", "403", "404", "409", "429", "503"}),
    ("/jobs/{id}/cancel", "post"): ("cancelJob", {"200", "401", "403", "404", "409", "503"}),
    ("/jobs/{id}/pause", "post"): ("pauseJob", {"200", "401", "403", "404", "409", "503"}),
    ("/jobs/{id}/resume", "post"): ("resumeJob", {"200", "401", "403", "404", "409", "503"}),
    ("/jobs/{id}/retry", "post"): (
        "retryJob",
        {"201", "400", "401", "402", "403", "404", "409", "410", "422", "429", "503"},
    ),
    ("/jobs/{id}/result", "get"): ("getJobResult", {"200", "401", "403", "404", "409", "410", "421", "503"}),
    ("/jobs/{id}/data", "delete"): ("deleteJobData", {"200", "202", "401", "403", "404", "503"}),
}
FIELDS = {
    "CreateJobRequest": {
        *("input_id", "input_s3_uri", "model", "max_output_tokens", "max_tokens", "dimensions", "data_residency"),
        *("reasoning", "reasoning_budget", "reasoning_effort", "temperature", "video_fps", "response_format"),
    },
    "Job": REFERENCE_FIELDS | OUR_FIELDS,
    "JobResult": {"id", "status", "result_url", "expires_in", "partial", "row_count"},
    "JobDataDeletion": {"id", "status", "data_deleted_at", "message"},
    "Error": {"detail"},
}
REQUIRED = {
    "CreateJobRequest": {"model"},
    "Job": {"id", "status"},
    "JobResult": {"id", "status", "result_url", "expires_in"},
    "JobDataDeletion": {"id", "status"},
    "Error": {"detail"},
}


@pytest.fixture(scope="module")
def description() -> dict:
    return SchemaGenerator(urlconf="jobs.urls").get_schema(public=True)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_operations_and_their_statuses(description, path, method):
    operation = description["paths"][path][method]
    assert (operation["operationId"], set(operation["responses"])) == OPERATIONS[path, method]


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_the_bodies(description, name):
    schema = description["components"]["schemas"][name]
    assert set(schema["properties"]) == FIELDS[name]
    assert set(schema["required"]) == REQUIRED[name]
