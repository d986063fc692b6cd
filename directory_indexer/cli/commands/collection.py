"""`dirindex collection`: create, list, describe and delete collections."""

from typing import Annotated

from directory_indexer.cli.options import OrdinaryCall, open_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Group, Option
from directory_indexer.core.errors import ConsentNeededError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.collections import CollectionsAnswer, DeletedAnswer, collection_entry
    from directory_indexer.collections.collections import Collections
    from directory_indexer.text.reports import collection_lines


_Name = Annotated[str, Argument("Lower-case letters, digits and hyphens.")]


class ListCollectionsCall(OrdinaryCall):
    """The command line of `collection list`."""


def list_collections(call: ListCollectionsCall) -> None:
    """List the collections, with what each holds."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    entries = tuple(map(collection_entry, Collections(open_app(call.config, call.data_dir, output)).list()))
    if call.as_json:
        output.record(CollectionsAnswer(entries))
    else:
        output.lines(collection_lines(entries))


class CreateCollectionCall(OrdinaryCall):
    """The command line of `collection create`."""

    name: _Name
    description: Annotated[str, Option(("--description",), "What it is for.")] = ""


def create_collection(call: CreateCollectionCall) -> None:
    """Make a collection."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    name = collections.create(call.name, description=call.description)
    if call.as_json:
        output.record(collection_entry(collections.look_at(name)))
    else:
        output.notes([f"made the collection '{name}'; dirindex add --collection {name} FILE puts documents in"])


class DescribeCollectionCall(OrdinaryCall):
    """The command line of `collection describe`."""

    name: _Name
    description: Annotated[str, Argument("What it is for.")]


def describe_collection(call: DescribeCollectionCall) -> None:
    """Describe what a collection is for."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    collections.describe(call.name, call.description)
    if call.as_json:
        output.record(collection_entry(collections.look_at(call.name)))


class DeleteCollectionCall(OrdinaryCall):
    """The command line of `collection delete`."""

    name: _Name
    yes: Annotated[bool, Option(("--yes", "-y"), "Delete it with its contents.")] = False


def delete_collection(call: DeleteCollectionCall) -> None:
    """Delete a collection, with its documents and their originals."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    summary = collections.look_at(call.name)
    n_documents = sum(summary.documents.values())
    if n_documents and not call.yes:
        raise ConsentNeededError(
            f"the collection '{call.name}' holds {n_documents:,} {'document' if n_documents == 1 else 'documents'}",
            hint="add --yes to delete them and their originals for good",
        )
    collections.delete(call.name)
    if call.as_json:
        output.record(DeletedAnswer((call.name,)))
    else:
        output.notes([f"deleted the collection '{call.name}'"])


COMMAND = Group(
    {
        "list": Command(ListCollectionsCall, list_collections),
        "create": Command(CreateCollectionCall, create_collection),
        "describe": Command(DescribeCollectionCall, describe_collection),
        "delete": Command(DeleteCollectionCall, delete_collection),
    },
    help="""Create, list, describe and delete collections.

    Collections are separate indexes that share nothing but the model.
    """,
)
