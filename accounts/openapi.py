"""How the key appears in the API description (reference 003, securitySchemes)."""

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The `Authorization: Bearer` header of the batch API; found by drf-spectacular once this module is loaded."""

    target_class = "accounts.drf.KeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """A bearer scheme."""
        return {"type": "http", "scheme": "bearer", "description": "An API key of the organization: sk-…"}
