"""Bytes that a row carries as base64: checked once in pieces, then decoded where they are read, never as a whole."""

import binascii
from dataclasses import dataclass

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class InlineBytes:
    """Base64 from character `start` of a row's string on; `size` is its length in bytes, decoded."""

    text: str
    start: int = 0

    @property
    def size(self) -> int:
        """Bytes, as the number of characters and the padding tell."""
        padding = 2 if self.text.endswith("==") else int(self.text.endswith("="))
        return max(0, (len(self.text) - self.start) // 4 * 3 - padding)

    def is_valid(self) -> bool:
        """Whether it is base64 of the standard alphabet, padded and without line breaks."""
        length = len(self.text) - self.start
        if length % 4 or not self.text.isascii():
            return False
        try:
            decoded = sum(len(self._decode(place, _PIECE * 4)) for place in range(0, length, _PIECE * 4))
        except binascii.Error:
            return False
        return decoded == self.size

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset` on; fewer only at the end."""
        first, skipped = divmod(offset, 3)
        characters = -(-(skipped + size) // 3) * 4
        return self._decode(first * 4, characters)[skipped : skipped + size]

    def _decode(self, place: int, characters: int) -> bytes:
        begin = self.start + place
        return binascii.a2b_base64(self.text[begin : begin + characters], strict_mode=True)
