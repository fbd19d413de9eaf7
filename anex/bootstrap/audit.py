"""`make audit`: asks a database of advisories about everything that is installed here. Standard library only.

Exit 1 where something installed has a known vulnerability, 2 where the question itself failed, 0 otherwise. Where no
database can be reached nothing is known, and that is said.
"""

import json
import re
import subprocess
import sys
from typing import Any

# What pip-audit's last words name when there was nobody to ask.
UNREACHABLE = re.compile(
    r"ConnectionError|NewConnectionError|NameResolutionError|ConnectTimeout|ReadTimeout|ProxyError|SSLError"
    r"|Max retries exceeded|Network is unreachable|Could not connect|Service Unavailable|HTTPError: 5\d\d"
)


def main(arguments: list[str]) -> int:
    """Run pip-audit over this environment, or over what its own `arguments` name, and say what came of it."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    status, lines = verdict(done.stdout, done.stderr)
    print("\n".join(lines))
    return status


def verdict(output: str, errors: str) -> tuple[int, list[str]]:
    """The exit status and what to print, from what pip-audit wrote."""
    try:
        found: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = errors.strip().splitlines() or ["pip-audit said nothing."]
        if UNREACHABLE.search(errors):
            return 0, ["not checked: no database of advisories can be reached from here"]
        return 2, [f"the audit failed: {said[-1]}"]
    unknown = sorted(package["name"] for package in found if "skip_reason" in package)
    if len(unknown) == len(found):
        return 0, ["not checked: the database that was asked knows none of the packages"]
    lines = [line for package in found for line in _advisories(package)]
    checked = f"{len(found) - len(unknown)} packages checked, {len(lines)} known vulnerabilities"
    skipped = [f"not checked: {', '.join(unknown)}"] if unknown else []
    return (1 if lines else 0), [*lines, checked, *skipped]


def _advisories(package: dict[str, Any]) -> list[str]:
    return [
        f"{package['name']} {package['version']}: {advisory['id']}, mended in "
        f"{', '.join(advisory['fix_versions']) or 'no version yet'}"
        for advisory in package.get("vulns", [])
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
