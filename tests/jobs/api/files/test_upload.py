"""A file is uploaded by a real client through a real server, onto both stores."""

from jobs.models import File, FileUpload, Input
from tests.jobs.api.files.conftest import Host, file_of, row


def test_sdk_uploads_lists_reads_and_downloads_a_file(host: Host) -> None:
    content = file_of(*(row(number) for number in range(1000)))
    made = host.openai.files.create(file=("Zeilen ☃.jsonl", content), purpose="batch")
    assert (made.object, made.bytes, made.filename, made.purpose) == ("file", len(content), "Zeilen ☃.jsonl", "batch")
    assert made.expires_at - made.created_at == 7 * 24 * 3600
    assert host.openai.files.retrieve(made.id) == made
    assert [file.id for file in host.openai.files.list()] == [made.id]
    assert host.openai.files.content(made.id).read() == content
    file = File.objects.select_related("input").get()
    assert (file.input.status, file.model_id, FileUpload.objects.count()) == (Input.State.READY, "scripted", 0)
