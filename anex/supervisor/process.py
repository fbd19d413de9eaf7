"""The error that stops a start."""


class StartError(RuntimeError):
    """Something could not be prepared or started; the message is a sentence that says what to do."""
