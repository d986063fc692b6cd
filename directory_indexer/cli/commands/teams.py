"""`dirindex collection`, `scope` and `key`: what a server for several users offers, and to whom."""

import os
import re
from pathlib import Path
from typing import Annotated, Literal

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_app, parse_path
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Argument, Command, Group, Option
from directory_indexer.config import DEFAULT
from directory_indexer.core.errors import ConsentNeededError, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import resolved_path

with lazily:
    from directory_indexer.api.collections import CollectionsAnswer, DeletedAnswer, collection_entry, scopes_answer
    from directory_indexer.api.reports import KeyList, key_facts
    from directory_indexer.app import App
    from directory_indexer.collections import Collections
    from directory_indexer.collections.search import scopes_of_collection
    from directory_indexer.config import load_config
    from directory_indexer.core.rights import Right
    from directory_indexer.search.coverage_warnings import require_indexed
    from directory_indexer.storage.registry.keys import Keys
    from directory_indexer.text.reports import collection_lines, key_lines, scope_lines

_CollectionName = Annotated[str, Argument("Lower-case letters, digits and hyphens.")]


def list_collections(call: OrdinaryCall) -> None:
    """List the collections, with what each holds."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    entries = tuple(map(collection_entry, Collections(open_app(call.config, call.data_dir, output)).list()))
    if call.as_json:
        output.record(CollectionsAnswer(entries))
    else:
        output.lines(collection_lines(entries))


class CreateCollectionCall(OrdinaryCall):
    """The command line of `collection create`."""

    name: _CollectionName
    description: Annotated[str, Option(("--description",), "What it is for.")] = ""


def create_collection(call: CreateCollectionCall) -> None:
    """Make a collection."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    name = collections.create(call.name, description=call.description)
    if call.as_json:
        output.record(collection_entry(collections.get(name)))
    else:
        output.notes([f"made the collection '{name}'; dirindex add --collection {name} FILE puts documents in"])


class DescribeCollectionCall(OrdinaryCall):
    """The command line of `collection describe`."""

    name: _CollectionName
    description: Annotated[str, Argument("What it is for.")]


def describe_collection(call: DescribeCollectionCall) -> None:
    """Describe what a collection is for."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    collections.describe(call.name, call.description)
    if call.as_json:
        output.record(collection_entry(collections.get(call.name)))


class DeleteCollectionCall(OrdinaryCall):
    """The command line of `collection delete`."""

    name: _CollectionName
    yes: Annotated[bool, Option(("--yes", "-y"), "Delete it with its contents.")] = False


def delete_collection(call: DeleteCollectionCall) -> None:
    """Delete a collection, with its documents and their originals."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    summary = collections.get(call.name)
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


_SCOPE_NAME = r"[\w][\w .-]{0,63}"


class ScopeCall(OrdinaryCall):
    """The command line of `scope`."""

    name: Annotated[str, Argument("The name; default: show all scopes.", shows_default=False)] = ""
    paths: Annotated[
        tuple[Path, ...], Argument("The directories of the scope.", parse=parse_path, metavar="[PATH]...")
    ] = ()
    remove: Annotated[bool, Option(("--remove",), "Forget the name; the directories stay indexed.")] = False
    collection: InCollection = ""


def scope(call: ScopeCall) -> None:
    """Name a set of directories for `search --scope NAME`.

    Without a name, list the scopes; without paths, show one.
    """
    output = Output(quiet=call.quiet, as_json=call.as_json)
    collections = Collections(open_app(call.config, call.data_dir, output))
    scopes = scopes_of_collection(collections, call.collection or DEFAULT)
    if call.remove:
        if call.paths or not scopes.remove(call.name):
            raise UsageError(
                f"there is no scope '{call.name}'", hint="dirindex scope shows them; --remove takes one name"
            )
    elif call.paths:
        if not re.fullmatch(_SCOPE_NAME, call.name):
            raise UsageError(
                f"'{call.name}' is not a valid name for a scope", hint="use 1 to 64 letters, digits, spaces and . _ -"
            )
        directories = tuple(map(resolved_path, call.paths))
        with collections.app_of(call.collection or DEFAULT).docstore.snapshot() as snapshot:
            require_indexed(snapshot, directories)
        scopes.put(call.name, directories)
    named_scopes = scopes.all()
    if call.name and not call.remove:
        if call.name not in named_scopes:
            raise NotIndexedError(
                f"there is no scope '{call.name}'", hint=f"dirindex scope '{call.name}' PATH makes one"
            )
        named_scopes = {call.name: named_scopes[call.name]}
    if call.as_json:
        output.record(scopes_answer(named_scopes))
    else:
        output.lines(scope_lines(named_scopes, paths=output.paths))
        output.notes([] if named_scopes else ["there are no scopes; dirindex scope NAME PATH... makes one"])


_Right = Literal["read", "write", "admin", "metrics"]
_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_KeyName = Annotated[str, Argument("Name of the key: whom or what it is for.")]


class NewKeyCall(OrdinaryCall):
    """The command line of `key new`."""

    name: _KeyName
    right: Annotated[_Right, Option(("--right",), "What it allows; write includes read, admin includes all.")] = "read"
    collections: Annotated[
        tuple[str, ...], Option(("--collection",), "Only this collection; several may be given.", metavar="NAME")
    ] = ()
    expires: Annotated[
        str, Option(("--expires",), "Expire after: 12h, 90d, 2w, 1y.", metavar="90d", shows_default=False)
    ] = ""


def new_key(call: NewKeyCall) -> None:
    """Make a key and show it, this once."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    key, secret = _keys(call.config, call.data_dir, output).add(
        call.name,
        Right(call.right),
        collections=call.collections,
        seconds=_seconds(call.expires) if call.expires else None,
    )
    if call.as_json:
        output.record(key_facts(key, secret=secret))
    else:
        output.data(secret)
    output.notes([f"this is the key '{call.name}'; it is not kept, so that nobody can show it again"])


def list_keys(call: OrdinaryCall) -> None:
    """List the keys, with what each allows."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    keys = _keys(call.config, call.data_dir, output).all()
    if call.as_json:
        output.record(KeyList(tuple(map(key_facts, keys))))
        return
    output.lines(key_lines(keys))
    output.notes([] if keys else ["there are no keys; dirindex key new NAME makes one"])


class RevokeKeyCall(OrdinaryCall):
    """The command line of `key revoke`."""

    name: _KeyName


def revoke_key(call: RevokeKeyCall) -> None:
    """Revoke a key: servers refuse it from now on."""
    output = Output(quiet=call.quiet, as_json=call.as_json)
    revoked = _keys(call.config, call.data_dir, output).revoke(call.name)
    if call.as_json:
        output.record(key_facts(revoked))
    output.notes([f"the key '{call.name}' is revoked"])


def _keys(config: Path | None, data_dir: Path | None, output: Output) -> "Keys":
    loaded = load_config(file=config, data_dir=data_dir, environ=os.environ)
    output.notes(loaded.warnings)
    return Keys(App(loaded).registry)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6})([mhdwy])", text.strip())
    if not match or not int(match[1]):
        raise UsageError(f"invalid time '{text}' for --expires", hint="write --expires 12h, 90d, 2w or 1y")
    return int(match[1]) * float(_UNITS[match[2]])


COMMANDS = {
    "collection": Group(
        {
            "list": Command(OrdinaryCall, list_collections),
            "create": Command(CreateCollectionCall, create_collection),
            "describe": Command(DescribeCollectionCall, describe_collection),
            "delete": Command(DeleteCollectionCall, delete_collection),
        },
        help="""Create, list, describe and delete collections.

    Collections are separate indexes that share nothing but the model.
    """,
    ),
    "scope": Command(ScopeCall, scope),
    "key": Group(
        {
            "new": Command(NewKeyCall, new_key),
            "list": Command(OrdinaryCall, list_keys),
            "revoke": Command(RevokeKeyCall, revoke_key),
        },
        help="""Make, list and revoke the keys of HTTP clients.""",
    ),
}
