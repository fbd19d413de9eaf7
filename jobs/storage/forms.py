"""Reads an upload form piece by piece: fields are kept, the file is handed on. No input or output here.

S3's rules for a form POST: names of fields are compared in lower case, fields are small, and whatever follows the file
is ignored; where a form is said to read on, fields may follow it.
"""

from typing import Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from jobs.storage.policy import Refused

# S3 refuses forms whose fields before the file are larger.
MAX_FIELD_BYTES: Final = 20_000
FILE_FIELD: Final = "file"


class UploadForm:
    """One form on its way in.

    `fields` is complete once `has_file` is true or, where it `reads_on`, once `complete` is; that is when the closing
    boundary was read. `filename` is what the file was called, if anything.
    """

    def __init__(self, content_type: str, *, reads_on: bool = False) -> None:
        """Raises Refused when the body is no multipart form."""
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise Refused("PreconditionFailed", 412, "The upload must be a POST of the type multipart/form-data.")
        self.fields: dict[str, str] = {}
        self.has_file = False
        self.complete = False
        self.filename = ""
        self._reads_on = reads_on
        self._name = self._filename = ""
        self._value = bytearray()
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._field_bytes = 0
        self._pieces: list[bytes] = []
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": self._header_field,
                    "on_header_value": self._header_content,
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._begin_content,
                    "on_part_data": self._content,
                    "on_part_end": self._end_part,
                    "on_end": self._end,
                },
            )
        except FormParserError as error:
            raise _malformed() from error

    def feed(self, data: bytes) -> bytes:
        """Read on; answers the bytes of the file that were found. Raises Refused."""
        try:
            self._parser.write(data)
        except (FormParserError, UnicodeDecodeError) as error:
            raise _malformed() from error
        found, self._pieces = b"".join(self._pieces), []
        return found

    def finish(self) -> None:
        """The body has ended. Raises Refused when the form has not, or held no file."""
        if not self.complete:
            raise _malformed()
        if not self.has_file:
            raise _not_one_file()

    def _begin_part(self) -> None:
        self._name = self._filename = ""
        self._value.clear()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _header_content(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _end_header(self) -> None:
        if self._header_name.lower() == b"content-disposition":
            _, options = parse_options_header(bytes(self._header_value))
            self._name = options.get(b"name", b"").decode().lower()
            self._filename = options.get(b"filename", b"").decode(errors="replace")
        self._header_name.clear()
        self._header_value.clear()

    def _begin_content(self) -> None:
        if not self._name:
            raise _malformed()
        if self.has_file and not self._reads_on:
            self._name = ""
        elif self._name == FILE_FIELD:
            if self.has_file:
                raise _not_one_file()
            self.has_file, self.filename = True, self._filename
        else:
            self._count(len(self._name))

    def _content(self, data: bytes, start: int, end: int) -> None:
        if self._name == FILE_FIELD:
            self._pieces.append(data[start:end])
        elif self._name:
            self._count(end - start)
            self._value += data[start:end]

    def _count(self, size: int) -> None:
        self._field_bytes += size
        if self._field_bytes > MAX_FIELD_BYTES:
            raise Refused("MaxPostPreDataLengthExceeded", 400, "The fields of the form are larger than allowed.")

    def _end_part(self) -> None:
        if not self._name or self._name == FILE_FIELD:
            return
        if self._name in self.fields:
            raise Refused("InvalidArgument", 400, f"The field '{self._name}' is given twice.")
        self.fields[self._name] = self._value.decode()

    def _end(self) -> None:
        self.complete = True


def _not_one_file() -> Refused:
    return Refused("InvalidArgument", 400, "POST requires exactly one file upload per request.")


def _malformed() -> Refused:
    return Refused("MalformedPOSTRequest", 400, "The body is not a well-formed multipart/form-data form.")
