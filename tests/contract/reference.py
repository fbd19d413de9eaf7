"""The structure of reference 003's own API description, without its prose: paths, fields, types, statuses."""

import json
from pathlib import Path
from typing import Any

METHODS = ("get", "post", "delete")
DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("reference_003.json").read_text())
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OPERATIONS = [(method, path) for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item]


def _bodies(operation: dict[str, Any]) -> dict[str, Any]:
    return {
        status: answer["content"]["application/json"]["schema"] for status, answer in operation["responses"].items()
    }


# Operation id → status → the schema of its body.
ANSWERS = {
    DOCUMENT["paths"][path][method]["operationId"]: _bodies(DOCUMENT["paths"][path][method])
    for method, path in OPERATIONS
}
