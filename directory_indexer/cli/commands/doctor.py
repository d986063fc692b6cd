"""`dirindex doctor`: check the index and what it depends on."""

import re
from collections.abc import Iterator
from typing import Annotated

from directory_indexer.cli.commands import InCollection, OrdinaryCall, open_app, open_existing_app
from directory_indexer.cli.output import Output
from directory_indexer.cli.parameters import Command, Option
from directory_indexer.core.errors import ExitCode, StoreError
from directory_indexer.core.lazy import lazily

with lazily:
    from directory_indexer.api.reports import doctor_answer
    from directory_indexer.app import App
    from directory_indexer.cli.command_server import end_lingering
    from directory_indexer.collections import OpenCollection
    from directory_indexer.collections.consistency_checks import (
        document_findings,
        registry_findings,
        repair_documents,
        repair_registry,
    )
    from directory_indexer.config import CollectionName
    from directory_indexer.core.notes import Finding, Verdict
    from directory_indexer.text import reports


class DoctorCall(OrdinaryCall):
    """The command line of `doctor`."""

    repair: Annotated[bool, Option(("--repair",), "Repair what can be repaired.")] = False
    forget_pages: Annotated[
        bool, Option(("--forget-pages",), "Clear the OCR cache; scanned pages are read again if needed.")
    ] = False
    collection: InCollection = ""


def doctor(call: DoctorCall) -> ExitCode:
    """Check configuration, model, stores and their agreement."""
    output = Output(quiet=call.quiet, verbose=call.verbose, as_json=call.as_json)
    app = (
        open_existing_app(call.config, call.data_dir, output, call.collection)
        if call.repair
        else open_app(call.config, call.data_dir, output, call.collection)
    )
    end_lingering(app.loaded.data_dir)
    if call.forget_pages:
        gone = app.policies.page_cache.clear()
        output.notes([f"{gone.n_pages:,} pages are forgotten; dirindex index --force reads them again"])
    try:
        findings = list(_registry_findings(app, repair=call.repair))
        findings += app.doctor.repair() if call.repair else app.doctor.check()
        findings += _document_findings(app, repair=call.repair)
    except StoreError as error:
        if "dirindex doctor" in (error.hint or ""):  # the hint would lead back here
            where = app.loaded.config.storage.sqlite_path.parent
            error.hint = f"move '{where}' away, and dirindex index PATH builds a new index"
        raise
    if call.collection:
        findings = [finding._replace(hint=_hint_for_collection(finding.hint, call.collection)) for finding in findings]
    if call.as_json:
        output.record(doctor_answer(findings))
    else:
        output.lines(reports.doctor_lines(findings))
    return ExitCode.UNAVAILABLE if any(finding.verdict is Verdict.PROBLEM for finding in findings) else ExitCode.DONE


def _hint_for_collection(hint: str, collection: str) -> str:
    """Return a hint whose commands name the collection."""
    return re.sub(r"\b(dirindex (?:index|forget|doctor --repair))\b", rf"\1 --collection {collection}", hint)


def _registry_findings(app: App, *, repair: bool) -> Iterator[Finding]:
    """Yield the findings about the registry, if there is one."""
    if not app.registry.exists():
        return
    if repair:
        yield from repair_registry(app.registry, app.loaded.data_dir)
    yield from registry_findings(app.registry)


def _document_findings(app: App, *, repair: bool) -> Iterator[Finding]:
    """Yield the findings about documents sent to the collection, if there are any."""
    if not app.registry.exists() or not app.loaded.config.storage.sqlite_path.exists():
        return
    opened = OpenCollection(CollectionName(app.loaded.collection), app, app.registry)
    if repair:
        yield from repair_documents(opened)
    yield from document_findings(opened)


COMMANDS = {"doctor": Command(DoctorCall, doctor)}
