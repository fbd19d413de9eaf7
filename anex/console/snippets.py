"""How a program asks for a job or a batch, in three languages; each runs as it stands once ANEX_API_KEY is set."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.conf import settings

_CURL: Final = """\
curl {url} \\
  -H "Authorization: Bearer $ANEX_API_KEY"
"""
_PYTHON: Final = """\
import json, os, time, urllib.request

request = urllib.request.Request(
    "{url}",
    headers={{"Authorization": "Bearer " + os.environ["ANEX_API_KEY"]}},
)
while True:
    with urllib.request.urlopen(request) as answer:
        job = json.load(answer)
    print(job["status"])
    if job["status"] in ({ends}):
        break
    time.sleep(10)
"""
_JAVASCRIPT: Final = """\
const headers = {{ Authorization: `Bearer ${{process.env.ANEX_API_KEY}}` }};
for (;;) {{
  const answer = await fetch("{url}", {{ headers }});
  const job = await answer.json();
  console.log(job.status);
  if ([{ends}].includes(job.status)) break;
  await new Promise((done) => setTimeout(done, 10000));
}}
"""
_ENDS: Final = {
    "jobs": ("done", "failed", "cancelled"),
    "batches": ("completed", "failed", "expired", "cancelled"),
}


@dataclass(frozen=True, slots=True)
class Snippet:
    """Code in one language; `name` is what a page calls it by."""

    name: str
    language: str
    code: str


def of(job: UUID | str) -> list[Snippet]:
    """The snippets that poll a job, or the batch of an id that is no UUID."""
    kind, path = ("jobs", f"batch/v1/jobs/{job}") if isinstance(job, UUID) else ("batches", f"v1/batches/{job}")
    told = {"url": f"{settings.ANEX_PUBLIC_URL}/{path}", "ends": ", ".join(f'"{end}"' for end in _ENDS[kind])}
    return [
        Snippet(name, language, words.format(**told).rstrip())
        for name, language, words in (
            ("curl", "curl", _CURL),
            ("python", "Python", _PYTHON),
            ("javascript", "JavaScript", _JAVASCRIPT),
        )
    ]
