"""`dirindex collection`: create, list, describe and delete collections."""

from typing import Annotated

import typer

from directory_indexer.cli.opening import open_app
from directory_indexer.cli.options import AsJson, ConfigFile, DataDir, Quiet, new_command_line
from directory_indexer.cli.output import Output
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import CollectionsAnswer, DeletedAnswer, collection_entry
    from directory_indexer.collections.collections import Collections
    from directory_indexer.text import json_pages
    from directory_indexer.text.reports import collection_lines

cli = new_command_line()

_Name = Annotated[str, typer.Argument(help="Small letters, digits and hyphens.")]


@cli.callback()
def collection() -> None:
    """Create, list, describe and delete collections.

    Collections are separate indexes that share nothing but the model.
    """


@cli.command("list")
def list_collections(
    *, config: ConfigFile = None, data_dir: DataDir = None, quiet: Quiet = False, as_json: AsJson = False
) -> None:
    """List the collections, with what each holds."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    entries = tuple(map(collection_entry, Collections(open_app(config, data_dir, output)).list()))
    if as_json:
        output.data(json_pages.record_json(CollectionsAnswer(entries)))
    else:
        output.lines(collection_lines(entries))


@cli.command("create")
def create_collection(
    *,
    name: _Name,
    description: Annotated[str, typer.Option("--description", help="What it is for.")] = "",
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Make a collection."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    collections = Collections(open_app(config, data_dir, output))
    made = collections.create(name, description=description)
    if as_json:
        output.data(json_pages.record_json(collection_entry(collections.look_at(made))))
    else:
        output.notes([f"made the collection '{made}'; dirindex add --collection {made} FILE puts documents in"])


@cli.command("describe")
def describe_collection(
    *,
    name: _Name,
    description: Annotated[str, typer.Argument(help="What it is for.")],
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Describe what a collection is for."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    collections = Collections(open_app(config, data_dir, output))
    collections.describe(name, description)
    if as_json:
        output.data(json_pages.record_json(collection_entry(collections.look_at(name))))


@cli.command("delete")
def delete_collection(
    *,
    name: _Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete it with all that is in it.")] = False,
    config: ConfigFile = None,
    data_dir: DataDir = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Delete a collection, with its documents and their originals."""
    output = Output(quiet=quiet, verbose=False, as_json=as_json)
    collections = Collections(open_app(config, data_dir, output))
    summary = collections.look_at(name)
    n_documents = sum(summary.documents.values())
    if n_documents and not yes:
        raise ConsentNeededError(
            f"the collection '{name}' holds {n_documents:,} {'document' if n_documents == 1 else 'documents'}",
            hint="add --yes to delete them and their originals for good",
        )
    collections.delete(name)
    if as_json:
        output.data(json_pages.record_json(DeletedAnswer((name,))))
    else:
        output.notes([f"deleted the collection '{name}'"])
