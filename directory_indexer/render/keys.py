"""API keys as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from directory_indexer.lazy import lazily
from directory_indexer.render.spans import Line, Span, Style, line
from directory_indexer.wire.keys import key_facts

with lazily:
    from directory_indexer.registry.keys import Key


def key_lines(keys: Sequence[Key]) -> Iterator[Line]:
    """Yield one line per key: its name, right, collections, expiry and last use."""
    facts = [key_facts(key) for key in keys]
    width = max((len(key.name) for key in facts), default=0)
    for key in facts:
        collections = "all collections" if key.collections is None else ", ".join(key.collections)
        until = f"until {key.expires_at}" if key.expires_at else "for ever"
        end = Span(f"expired {key.expires_at}", Style.WARNING) if key.expired else until
        used = f", last used {key.last_used_at}" if key.last_used_at else ", never used"
        yield line(f"{key.name.ljust(width)}  {key.right.ljust(7)}  {collections}  ", end, used)
