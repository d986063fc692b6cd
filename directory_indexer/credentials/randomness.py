"""Values that are random beyond doubt, whatever they are called.

Words and identifiers consist of pairs of characters that often follow each other; in a random value all pairs are
equally frequent, so their surprisal is high. The table of pairs is made by `scripts/build_randomness`. Of random values
of 20 characters and more with a digit, 99 in 100 are recognised; of quoted names in source code, 1 in 1,000 would be.
"""

from __future__ import annotations

import base64
import re
from itertools import pairwise, product
from typing import Final

from directory_indexer.credentials.lazy_pattern import LazyPattern
from directory_indexer.credentials.strength import is_placeholder

ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz0_"
"""Folded alphabet of values: letters, a digit, and the end of a word."""


def is_random(value: str) -> bool:
    """Whether a value of letters and digits is random: neither words nor a number nor a digest."""
    size = len(value)
    if not _MIN_SIZE <= size <= _MAX_SIZE or _ALPHABETS.fullmatch(value) is None:
        return False
    if len(set(value)) < min(size, _FULL_SIZE) * _MIN_VARIETY:
        return False
    if surprise(value) < (_SURPRISE if size >= _LONG else _SURPRISE_OF_SHORT):
        return False
    return not (_ORDERLY.match(value) or is_placeholder(value) or _is_text(value))


def folded(value: str) -> str:
    """Fold a value to the alphabet of the table; a capital within a word begins another one."""
    return _OTHER.sub("_", _DIGIT.sub("0", _CAPITAL.sub("_", value).lower()))


def surprise(value: str) -> float:
    """Return the mean surprisal of the pairs of a value, in bits; digits that follow digits are ignored."""
    reduced = _DIGIT_RUN.sub("0", value)
    return sum(_SURPRISES[pair] for pair in pairwise(folded(reduced))) / max(2 * len(reduced) - 2, _MIN_PAIRS)


def _is_text(value: str) -> bool:
    """Whether a value is text in base64."""
    try:
        return base64.b64decode(value[: len(value) // 4 * 4]).decode("ascii").isprintable()
    except ValueError:
        return False


_MIN_SIZE: Final = 16
_MAX_SIZE: Final = 128
_MIN_PAIRS: Final = 20
_LONG: Final = 20
_SURPRISE: Final = 5.8
_SURPRISE_OF_SHORT: Final = 6.2
_FULL_SIZE: Final = 40
_MIN_VARIETY: Final = 0.4
_ALPHABETS: Final = LazyPattern(
    r"(?=[A-Za-z_+/=~-]*\d)"
    r"(?:[a-z0-9_]{20,}|[A-Z0-9]{24,}|(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z])(?:[\w~-]+|[A-Za-z0-9+/]+)={0,2})",
)
_ORDERLY: Final = LazyPattern(
    r"(?i:0x)?[0-9a-fA-F_-]+$|\d+$|c[a-z0-9]{24}$|0[0-9A-HJKMNP-TV-Z]{25}$|"  # digests and ids of several kinds
    r"sha\d|md5|pk_|pk-|pub|AAAA|MI[IGH]|eyJ|_[ZD]\d?|\?|Qm[1-9A-Za-z]{44}$|baf[a-z2-7]{50}|bc1|age1|[13][1-9A-HJ-NP-Za-km-z]{25,34}$|"
    r".{0,60}(?:HMAC|AES|SHA)-?\d?|LS0t|iVBOR|R0lGOD|/9j/|UklGR|AGFzbQ|UEsDB|H4sI|JVBER|PHN2Zy|PD94bWw|d09G|T1RUTw|BPL?[\w-]{85,86}$|xn--"
)
"""Digests and ids, mangled names, addresses and public keys; beginnings of pictures, fonts and archives."""
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DIGIT: Final = re.compile(r"\d")
_DIGIT_RUN: Final = re.compile(r"\d+")
_OTHER: Final = re.compile(r"[^a-z0_]")
_TABLE: Final = (
    "ja89geaf9kc796jak686ccedcgj8"
    "6bfg5jli7dl6fh6hq7ae7kki8jg9"
    "6kci6kl69o89jk5gj9e7apnkdlh8"
    "8hhb5feh6ilcfg9inb9gbggndoh3"
    "9g96bddiemi9a7fcg669gdebdik5"
    "7igh77hn4nk8hk6jq8c99nnqeic6"
    "8jlh5jc98onafa9jo7ad9mkrdkj3"
    "5gkg4iml6omdde6fkac99igockj6"
    "9d8a8calilf8a47bja77gbmfndob"
    "5leh5hlh8lghlf5chh7g5hghlhla"
    "8ehf4hhd6mhbhaagme7ecmfpbmm4"
    "6ffb5fhk6mf7fi7gnjabaejn8mn6"
    "59ej4ink6old9e77nibhallneoi7"
    "8i977d6h9icghbahkh76dejleil5"
    "dcaafbbhcjc884aan5998baffjk9"
    "5ihf5jh98oi7hi79n6a8ajjmdof8"
    "efhbkkkkekk8hkkkkffk1hdkkkfb"
    "6eba5fch7ncdbc7ela89bdhpamn6"
    "ahai7il98qdcegaagj96aldmenj3"
    "7idi5gl85ukcgh8hr89abmgkbik5"
    "9a9a8cbl9lg786ean667ihnhjhbc"
    "5hhj2ijj4mphji8iphehfpmmfphb"
    "5gge5fl95pfch86gp99filhkfph6"
    "ag8g7fnd7nkdckc7kff5eikneh84"
    "afdfajikcljabbc9qc99fkenjhi1"
    "5eig3lgc6libff8ggfdfaigla9f6"
    "bbbcc9ihknkhihihngiikknhnh24"
    "897999aa9dc99aa8g879bcagggk8"
)
"""One row for each character, one column for its successor; half bits in base 36."""
_SURPRISES: Final = dict(zip(product(ALPHABET, repeat=2), (int(digit, 36) for digit in _TABLE), strict=True))
