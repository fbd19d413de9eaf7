"""The sample that the page "OpenAI compatibility" gives for this client, as it stands there."""

import os
import re
import urllib.request

import pytest


def test_sample_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """One per client, or none."""
    with urllib.request.urlopen(f"{os.environ['ANEX_ORIGIN']}/docs/openai.md") as answer:
        page = answer.read().decode()
    samples = re.findall(rf"^```python {os.environ['ANEX_CLIENT']}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    if not samples:
        pytest.skip("the page has no sample for this client")
    for sample in samples:
        exec(compile(sample, "openai.md", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out.strip()
