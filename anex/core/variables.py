"""The variables of this process. Where `NAME_FILE` names a file, what is in it is the value of `NAME`.

Secrets that an orchestrator mounts as files reach no process list and no dump of an environment that way.
"""

from typing import Final

from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping


class Variables(FileAwareMapping):  # type: ignore[misc]
    """os.environ, with files. They are read each time: a secret that is replaced is found."""

    def __getitem__(self, key: str) -> str:
        """Without the newline that editors end a file with. Raises ImproperlyConfigured for a file nobody can read."""
        try:
            value: str = super().__getitem__(key)
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{key}_FILE names a file that cannot be read.") from error
        return value.rstrip("\r\n")


variables: Final = Variables(cache=False)
