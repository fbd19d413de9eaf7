"""What files and batches share on the OpenAI-compatible host."""

from billing.api.openai import OpenAIView
from jobs.api.endpoint import Endpoint


class OpenAIEndpoint(Endpoint, OpenAIView):
    """The scopes, plans and freezes of the batch API, with errors in OpenAI's shape."""
