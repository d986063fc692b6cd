"""Whatever an assistant writes into any argument of any tool, it is no bug of the server."""

from __future__ import annotations

import contextlib
import json
import re
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import pytest
from hostile_values import TEXTS, json_values, plain_value, sampled
from mcp import Client, MCPError
from mcp.types import INVALID_PARAMS, ResourceTemplateReference
from served import TOKEN, Served
from teams import Team

from directory_indexer.config import load_config
from directory_indexer.core.paths import resolved_path
from directory_indexer.indexing.options import IndexOptions
from directory_indexer.policies import Policies
from directory_indexer.server.bridge.http_client import HttpClient, parse_remote_address
from directory_indexer.server.bridge.mcp_server import LOCAL_TOOLS, LocalFiles, make_bridge_server
from directory_indexer.server.bridge.remote_server import RemoteServer
from directory_indexer.server.mcp import record_schema
from directory_indexer.server.mcp.arguments import ArgumentError, parse_arguments
from directory_indexer.server.mcp.executor import TOOLS
from directory_indexer.server.middleware.authentication import ANONYMOUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from anyio.from_thread import BlockingPortal
    from mcp.types import CallToolResult, Tool

    from directory_indexer.api.operations import Operation

_VALUES = {name: json.loads(text) for name, text in json_values()}
_NO_UNICODE = {
    name for name, value in _VALUES.items() if re.search(r"[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
}
"""Values with an unpaired surrogate somewhere in them."""


class _Place:
    """An index, and what its tools are asked about."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.docs = directory / "docs"
        self.docs.mkdir()
        note = self.docs / "note.md"
        note.write_text("# Kolibri\n\nA bird.\n")
        self.team = Team(directory / "data", DIRINDEX_SERVING__REQUESTS_PER_SECOND="100000")
        self.team.app.runs.indexer.index(
            [str(self.docs)], options=IndexOptions(), listener=lambda _: None, stop_reason=lambda: None
        )
        sent = self.team.add("A text about a kolibri.", filename="sent.md")
        self.samples = {"path": str(note), "source": str(note), "query": "kolibri", "pattern": "kolibri"}
        self.samples["doc_id"] = sent.document.doc_id

    def given(self, tool: Tool) -> dict[str, Any]:
        """Return what a call of a tool has to say."""
        schema = tool.input_schema
        return {
            name: self.samples.get(name, plain_value(schema["properties"][name])) for name in schema.get("required", ())
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Place]:
    place = _Place(tmp_path_factory.mktemp("place"))
    yield place
    place.team.close()


@pytest.fixture(scope="module")
def served(place: _Place) -> Iterator[Served]:
    with Served(place.team) as served:
        yield served


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[_Caller]:
    with served.portal.wrap_async_context_manager(Client(served.protocol, mode="legacy")) as client:
        yield _Caller(client, served.portal)


@pytest.fixture(scope="module")
def bridge(place: _Place, served: Served) -> Iterator[_Caller]:
    policies = Policies(load_config(file=None, data_dir=place.directory / "other", environ={}))
    with (
        served.listening() as address,
        anyio.from_thread.start_blocking_portal() as portal,
        contextlib.closing(HttpClient(parse_remote_address(address), TOKEN)) as exchange,
    ):
        remote = RemoteServer(exchange)
        server = make_bridge_server(remote, LocalFiles(policies), (resolved_path(place.docs),))
        with portal.wrap_async_context_manager(Client(server, mode="legacy")) as client:
            yield _Caller(client, portal)


class _Caller:
    """A client of a server in this process."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client = client
        self.portal = portal

    def tools(self) -> Mapping[str, Tool]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def bug_in(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool; return what it answers if that is its own fault."""
        try:
            return _bug(self.portal.call(self.client.call_tool, name, dict(arguments)))
        except MCPError as error:
            return "" if error.code == INVALID_PARAMS else error.message
        except ValueError:  # the client itself cannot send it
            return ""


def _bug(result: CallToolResult) -> str:
    text = "".join(getattr(part, "text", "") for part in result.content)
    return text if result.is_error and "bug" in text else ""


def _calls(place: _Place, tool: Tool, *, is_sampled: bool = True) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield an argument, the name of a value and the arguments of a call with it."""
    for number, name in enumerate(tool.input_schema["properties"], len(tool.name)):
        for case, value in (sampled(_VALUES, number) if is_sampled else _VALUES).items():
            yield name, case, {**place.given(tool), name: value}


def _failures(place: _Place, caller: _Caller, name: str, *, is_sampled: bool) -> list[tuple[str, str, str]]:
    calls = _calls(place, caller.tools()[name], is_sampled=is_sampled)
    return [(argument, case, bug) for argument, case, call in calls if (bug := caller.bug_in(name, call))]


@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_no_argument_of_a_tool_makes_it_fail(place: _Place, served: Served, client: _Caller, name: str) -> None:
    assert not _failures(place, client, name, is_sampled=True)
    assert not served.log.bugs


@pytest.mark.parametrize("name", ["search", *LOCAL_TOOLS])
def test_no_argument_of_a_tool_for_a_remote_index_makes_it_fail(
    place: _Place, served: Served, bridge: _Caller, name: str
) -> None:
    assert not _failures(place, bridge, name, is_sampled=True)
    assert not served.log.bugs


@pytest.mark.slow
@pytest.mark.parametrize("name", [tool.name for tool in TOOLS])
def test_no_value_of_any_argument_of_a_tool_makes_it_fail(
    place: _Place, served: Served, client: _Caller, name: str
) -> None:
    assert not _failures(place, client, name, is_sampled=False)
    assert not served.log.bugs


@pytest.mark.slow
@pytest.mark.parametrize("name", ["search", *LOCAL_TOOLS])
def test_no_value_of_any_argument_of_a_tool_for_a_remote_index_makes_it_fail(
    place: _Place, served: Served, bridge: _Caller, name: str
) -> None:
    assert not _failures(place, bridge, name, is_sampled=False)
    assert not served.log.bugs


@pytest.mark.parametrize("tool", [*TOOLS, *LOCAL_TOOLS.values()], ids=lambda tool: tool.name)
def test_what_no_client_of_the_sdk_can_send_is_refused(tool: Operation[Any]) -> None:
    for name in record_schema(tool.arguments)["properties"]:
        for case, value in _VALUES.items():
            with contextlib.suppress(ArgumentError):
                parse_arguments(tool.arguments, {name: value})
                assert case not in _NO_UNICODE, name


@pytest.mark.parametrize("is_sampled", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_no_argument_of_an_operation_makes_it_fail_as_a_tool(
    place: _Place,
    served: Served,
    is_sampled: bool,  # noqa: FBT001
) -> None:
    tools = served.operation_tools
    for tool in tools.listed(ANONYMOUS):
        for name, case, arguments in _calls(place, tool, is_sampled=is_sampled):
            result = served.portal.call(tools.answer, tool.name, arguments, ANONYMOUS)
            assert not _bug(result), (tool.name, name, case)
    assert not served.log.bugs


@pytest.mark.parametrize("name", sorted(set(TEXTS) - _NO_UNICODE))
def test_no_address_of_a_resource_and_no_beginning_of_a_path_fails(served: Served, client: _Caller, name: str) -> None:
    template = ResourceTemplateReference(uri="dirindex://file/{+path}")
    for uri in (TEXTS[name], f"dirindex://file/{TEXTS[name]}"):
        with contextlib.suppress(MCPError):
            client.portal.call(client.client.read_resource, uri)
    with contextlib.suppress(MCPError):
        argument = {"name": "path", "value": TEXTS[name]}
        client.portal.call(client.client.complete, template, argument)
    assert not served.log.bugs


def test_so_many_arguments_and_values_are_tried(served: Served, client: _Caller, bridge: _Caller) -> None:
    tools = [*client.tools().values(), *bridge.tools().values(), *served.operation_tools.listed(ANONYMOUS)]
    n_arguments = sum(len(tool.input_schema["properties"]) for tool in tools)
    assert n_arguments >= 75
    assert n_arguments * len(_VALUES) > 3000
