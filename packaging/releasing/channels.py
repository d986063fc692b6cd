"""The files of package managers, filled in for one release from the templates in `packaging/channels`."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Published(NamedTuple):
    """The files that the package managers fetch: where those of a release are, and the SHA-256 of each."""

    version: str
    date: str
    url: str
    wheel: str
    wheel_sha256: str
    manual: str
    manual_sha256: str
    bundle: str
    bundle_sha256: str


def write_channels(templates: Path, directory: Path, published: Published) -> list[Path]:
    """Fill in every template.

    Raises:
        KeyError: a template asks for something that no release has.
    """
    files = []
    for template in sorted(path for path in templates.rglob("*") if path.is_file()):
        path = directory / template.relative_to(templates)
        path.parent.mkdir(parents=True, exist_ok=True)
        filled = _Filled(template.read_text(encoding="utf-8")).substitute(published._asdict())
        path.write_text(filled, encoding="utf-8")
        files.append(path)
    return files


class _Filled(Template):
    """`@name@` stands for a value: Ruby and PowerShell have their own use for a dollar."""

    delimiter = "@"
    pattern = r"@(?:(?P<escaped>@)|(?P<named>[a-z0-9_]+)@|(?P<braced>(?!))|(?P<invalid>(?!)))"  # type: ignore[assignment]
