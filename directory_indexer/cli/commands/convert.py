"""`dirindex convert`: write a document of any format as Markdown."""

from pathlib import Path
from typing import Annotated

from directory_indexer.cli.commands import OrdinaryCall, open_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Option
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import path_of_place, resolved_path

with lazily:
    from directory_indexer.api.contents import converted_text
    from directory_indexer.integrations.converting.converter import is_url
    from directory_indexer.integrations.exporting import require_free, staged_file
    from directory_indexer.text import results


class ConvertCall(OrdinaryCall):
    """The command line of `convert`."""

    source: Annotated[str, Argument("A file, a member such as a.zip!/b.docx, or a URL.", metavar="PATH|URL")]
    target: Annotated[Path | None, Option(("--output", "-o"), "Write to FILE.", parse=parse_path, metavar="FILE")] = (
        None
    )
    force: Annotated[bool, Option(("--force",), "Replace FILE if it exists.")] = False
    allow_private: Annotated[
        bool, Option(("--allow-private",), "Also fetch from this machine and private networks.")
    ] = False


def convert(call: ConvertCall) -> None:
    """Write a document of any kind as Markdown, without indexing it.

    Web pages that do not mark their main part lose their menus and banners with the extra `web`: in a checkout,
    pip install '.[web]'
    """
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    app = open_app(call.config, call.data_dir, output)
    place = path_of_place(call.target) if call.target else None
    if place:
        require_free(place, app.policies.walk.own, force=call.force)
    if is_url(call.source):
        text = app.converter.convert_url(call.source, allow_private=call.allow_private)
    else:
        text = app.converter.convert_file(resolved_path(parse_path(call.source)))
    if place:
        with staged_file(place, force=call.force) as draft:
            Path(draft).write_bytes(text.encode("utf-8", "replace"))
    if call.as_json:
        output.record(converted_text(call.source, None if place else text, file=place))
    elif not place:
        output.data(results.markdown(text, for_terminal=output.is_terminal))


COMMANDS = {"convert": Command(ConvertCall, convert)}
