"""Documentation of the API as a web page without scripts, generated from the table of operations."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from html import escape
from http import HTTPStatus
from typing import Any

from directory_indexer import __version__
from directory_indexer.server.api.openapi import description_over_http, failures_of, openapi, right_of
from directory_indexer.server.api.operations import Content, Operation
from directory_indexer.server.api.schemas import Components
from directory_indexer.wire.objects import JsonObject

OPENAPI_PATH, DOCS_PATH = "/openapi.json", "/docs"

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
h2 { border-top: 1px solid; margin-top: 2.5rem; padding-top: 1rem }
code, pre { font: 0.9em ui-monospace, monospace }
table { border-collapse: collapse; width: 100% }
td, th { border-bottom: 1px solid #8884; padding: 0.3rem 0.6rem 0.3rem 0; text-align: left; vertical-align: top }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


@functools.cache
def pages(operations: tuple[Operation, ...]) -> Mapping[str, Content]:
    """Build the OpenAPI document and the documentation page, on the first request for either."""
    document = json.dumps(openapi(operations, version=__version__), separators=(",", ":")).encode()
    page = "".join(_page(operations)).encode()
    return {
        OPENAPI_PATH: Content(document, "application/json"),
        DOCS_PATH: Content(page, "text/html; charset=utf-8", {"Content-Security-Policy": _POLICY}),
    }


def _page(operations: tuple[Operation, ...]) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8><title>dirindex: API</title>"
    yield f'<meta name=viewport content="width=device-width"><style>{_STYLE}</style>'
    yield f"<h1>dirindex {__version__}: API</h1>"
    yield f'<p>For programs: <a href="{OPENAPI_PATH}"><code>{OPENAPI_PATH}</code></a>. '
    yield "Keys are made with <code>dirindex key new NAME</code> and given as <code>Authorization: Bearer KEY</code>."
    yield "<ul>"
    for operation in operations:
        route = f"<code>{operation.method} {escape(operation.path)}</code>"
        yield f'<li><a href="#{operation.name}">{route}</a> {escape(operation.title)}'
    yield "</ul>"
    components = Components()
    for operation in operations:
        yield from _section(operation, components)
    yield "<h2 id=records>Records</h2>"
    for name, schema in sorted(components.schemas.items()):
        yield f"<h3 id=record-{name}>{name}</h3><p>{escape(schema['description'])}</p>"
        yield from _table(schema["properties"], schema.get("required", []))


def _section(operation: Operation, components: Components) -> Iterator[str]:
    yield f"<h2 id={operation.name}><code>{operation.method} {escape(operation.path)}</code></h2>"
    yield f"<p>{escape(description_over_http(operation))} {escape(right_of(operation)).replace('`', '')}</p>"
    schema = operation.schema
    if schema["properties"]:
        yield f"<h3>{'Body' if operation.has_body else 'Parameters'}</h3>"
        yield from _table(schema["properties"], schema.get("required", []))
    yield "<h3>Answers</h3><table>"
    yield f"<tr><td>{operation.status}<td>{_reference(operation, components)}"
    for status, meaning in operation.also.items():
        yield f"<tr><td>{status}<td>{escape(meaning)}"
    for status, meaning in failures_of(operation).items():
        yield f"<tr><td>{status}<td>{escape(meaning)}"
    yield "</table>"


def _reference(operation: Operation, components: Components) -> str:
    if operation.answer is None:
        return escape("nothing" if operation.status == HTTPStatus.NO_CONTENT else operation.media_type)
    components.reference(operation.answer)
    return f"<a href=#record-{operation.answer.__name__}>{operation.answer.__name__}</a>"


def _table(properties: JsonObject, required: list[str]) -> Iterator[str]:
    yield "<table>"
    for name, schema in properties.items():
        always = "" if name in required else " <small>optional</small>"
        yield f"<tr><td><code>{name}</code>{always}<td>{_type(schema)}<td>{escape(schema.get('description', ''))}"
    yield "</table>"


def _type(schema: Any) -> str:
    for alternative in (*schema.get("allOf", ()), *schema.get("anyOf", ())):
        if "$ref" in alternative:
            return _type(alternative)
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"<a href=#record-{name}>{name}</a>"
    if "enum" in schema:
        return escape(" | ".join(str(value) for value in schema["enum"] if value is not None))
    kinds = schema.get("type", "any value")  # settings, for example, have any type
    plain = " or ".join(kinds) if isinstance(kinds, list) else kinds
    return f"{plain} of {_type(schema['items'])}" if "items" in schema else plain
