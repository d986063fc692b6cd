"""Changes bytes by chance in the ways that break parsers, and makes a breaking input smaller."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

_LONGEST_BYTES = 240_000
"""Just small enough to be taken for a light file."""

_MOST_MUTATIONS = 5

NUMBERS = (
    *("0", "-1", "1", "127", "128", "255", "256", "65535", "65536", "2147483647", "2147483648", "-2147483649"),
    *("4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e308", "1e309", "-0.0"),
    *("NaN", "Infinity", "0x7fffffff", "1" * 400, "0." + "3" * 400),
)
STRINGS = (
    *("", " ", "\0", "\x1b[31m\x1b]0;x\x07", "\r", "\u202e", "\u2066", "\u200b", "\ufeff", "\ufffe", "\U0010ffff"),
    *(
        "e" + "\u0301" * 300,
        "\ufdfa" * 50,
        "👩‍👩‍👧‍👦",
        "İ",
        "ﬀ",
        "\u0130\u0307",
        "\u2028",
        "\u0085",
        "\udc80",
        "\ud800",
    ),
    *(
        "%s%n%x",
        "../../../etc/passwd",
        "/dev/zero",
        "//",
        "\\",
        "'\";--",
        "{{7*7}}",
        "${a}",
        "<!--",
        "]]>",
        "*/",
        '"""',
    ),
    *("```", "~~~", "---\n", "===\n", "[[", "<![CDATA[", "<?php", "#!", "%PDF-1.7\n", "\x7fELF", "AND OR NOT NEAR("),
)
_TOKENS = (
    *("(", ")", "[", "]", "{", "}", "<", ">", "a<", "a(", "#", "`", "'", '"', "\\", "/*", "*/", "//", "--", "$(", "${"),
    *(
        "\n",
        " ",
        "\t",
        "\n\n",
        "# a\n",
        "> ",
        "- ",
        "* ",
        "|",
        "&amp;",
        "<div>",
        "</",
        "<a b='",
        "@a ",
        "::",
        "->",
        "...",
    ),
    *(
        "if ",
        "else ",
        "do ",
        "end\n",
        "let ",
        "0",
        "1.",
        "a,",
        "a.",
        "a:b ",
        "=\n",
        "\\u",
        "%",
        "~",
        "^",
        "!",
        "?",
        ";",
    ),
)
_ENCODINGS = (
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "utf-8-sig",
    "utf-7",
    "cp1252",
    "shift_jis",
    "gb18030",
    "cp037",
)

_T = TypeVar("_T")


def mutated(content: bytes, other: bytes, chance: random.Random) -> bytes:
    """Change a content in some ways; `other` lends parts."""
    for _ in range(chance.randint(1, _MOST_MUTATIONS)):
        content = chance.choice(_WAYS)(content, other, chance)[:_LONGEST_BYTES]
    return content


def smallest(
    parts: Sequence[_T], is_broken: Callable[[Sequence[_T]], bool], *, seconds: float = 60.0, least: int = 1
) -> Sequence[_T]:
    """Leave out larger parts, then smaller ones, as long as what is left is still broken and time allows."""
    until, size = time.monotonic() + seconds, (len(parts) + 1) // 2
    while size >= least and len(parts) > 1 and time.monotonic() < until:
        start = 0
        while start < len(parts) and len(parts) > 1 and time.monotonic() < until:
            fewer = (
                [*parts[:start], *parts[start + size :]] if isinstance(parts, list) else _without(parts, start, size)
            )
            if fewer and is_broken(fewer):
                parts = fewer
            else:
                start += size
        size = size // 2
    return parts


def _without(parts: Sequence[_T], start: int, size: int) -> Sequence[_T]:
    return parts[:start] + parts[start + size :]  # type: ignore[operator,no-any-return]  # bytes and strings can


def _place(content: bytes, chance: random.Random) -> int:
    return chance.randrange(len(content) + 1)


def _slice(content: bytes, chance: random.Random, longest: int = 4000) -> tuple[int, int]:
    start = _place(content, chance)
    return start, start + chance.randint(0, min(longest, 4 ** chance.randint(0, 6)))


def _flip_bits(content: bytes, _: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _number in range(chance.choice((1, 1, 3, 30))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _insert_bytes(content: bytes, _: bytes, chance: random.Random) -> bytes:
    place = _place(content, chance)
    return content[:place] + chance.randbytes(chance.randint(1, 20)) + content[place:]


def _delete_slice(content: bytes, _: bytes, chance: random.Random) -> bytes:
    start, end = _slice(content, chance)
    return content[:start] + content[end:]


def _duplicate_slice(content: bytes, _: bytes, chance: random.Random) -> bytes:
    start, end = _slice(content, chance)
    part = content[start:end]
    times = chance.choice((1, 2, 10, 1000, 100_000))
    return content[:end] + part * min(times, _LONGEST_BYTES // (len(part) or 1)) + content[end:]


def _repeat_token(content: bytes, _: bytes, chance: random.Random) -> bytes:
    tokens = chance.sample(_TOKENS, chance.choice((1, 1, 2, 3)))
    unit = "".join(tokens).encode()
    place = chance.choice((0, len(content), _place(content, chance)))
    return content[:place] + unit * (4 ** chance.randint(1, 8)) + content[place:]


def _truncate(content: bytes, _: bytes, chance: random.Random) -> bytes:
    return content[: _place(content, chance)]


def _behead(content: bytes, _: bytes, chance: random.Random) -> bytes:
    return content[_place(content, chance) :]


def _splice(content: bytes, other: bytes, chance: random.Random) -> bytes:
    return content[: _place(content, chance)] + other[_place(other, chance) :]


def _insert_part_of_other(content: bytes, other: bytes, chance: random.Random) -> bytes:
    place, (start, end) = _place(content, chance), _slice(other, chance)
    return content[:place] + other[start:end] + content[place:]


def _insert_number(content: bytes, _: bytes, chance: random.Random) -> bytes:
    place = _place(content, chance)
    return content[:place] + chance.choice(NUMBERS).encode() + content[place:]


def _insert_string(content: bytes, _: bytes, chance: random.Random) -> bytes:
    place = _place(content, chance)
    return content[:place] + chance.choice(STRINGS).encode("utf-8", "surrogatepass") + content[place:]


def _replace_digits(content: bytes, _: bytes, chance: random.Random) -> bytes:
    digit = b"%d" % chance.randrange(10)
    return content.replace(digit, chance.choice(NUMBERS).encode(), chance.randint(1, 50))


def _encode(content: bytes, _: bytes, chance: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(chance.choice(_ENCODINGS), "replace")


def _join_lines(content: bytes, _: bytes, chance: random.Random) -> bytes:
    return content.replace(b"\n", chance.choice((b"", b" ", b"\r", b"\r\n", b"\0", b"\xe2\x80\xa8", b"\x0b")))


def _shuffle_lines(content: bytes, _: bytes, chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _indent(content: bytes, _: bytes, chance: random.Random) -> bytes:
    """Put each line further in than the one before, up to a depth."""
    unit, most = chance.choice((b" ", b"\t", b"> ", b"(", b"- ")), chance.choice((10, 100, 1000))
    lines = content.split(b"\n")
    return b"\n".join(unit * min(depth, most) + line for depth, line in enumerate(lines))


_WAYS: tuple[Callable[[bytes, bytes, random.Random], bytes], ...] = (
    *(_flip_bits, _insert_bytes, _delete_slice, _duplicate_slice, _repeat_token, _truncate, _behead, _splice),
    *(_insert_part_of_other, _insert_number, _insert_string, _replace_digits, _encode, _join_lines, _shuffle_lines),
    _indent,
)
