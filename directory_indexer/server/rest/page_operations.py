"""Operations that only the page of `dirindex ui` may call: the owner's administration of the index.

A directory is added or forgotten only with the confirmation token of its preview, which is valid once. Skipped files
are listed for the page only; other clients see only those that their own query names.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import secrets
import shutil
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import anyio

from directory_indexer.api.directories import (
    AddPreview,
    CauseCount,
    ForgetPreview,
    ForgottenAnswer,
    NearMisses,
    RuleCount,
    SuggestedDirectories,
    UnindexedFile,
    UnindexedFiles,
    count_extensions,
    ignored_entry,
    unindexed_file,
)
from directory_indexer.api.operations import Pool
from directory_indexer.api.reports import SettingsAnswer, settings_answer
from directory_indexer.api.runs import run_of
from directory_indexer.api.status import IndexVersion, StatusAnswer, status_answer
from directory_indexer.config import DEFAULT, LoadedConfig, load_config
from directory_indexer.config.settings import KEYS, Source
from directory_indexer.core.errors import ConflictError, LockedError, NotIndexedError, UsageError
from directory_indexer.core.lazy import lazily
from directory_indexer.core.paths import FilePath, display, exact_text, file_path, lies_in
from directory_indexer.indexing.indexer import BYTES_PER_TEXT_BYTE, BYTES_PER_TOKEN, estimate_text_bytes
from directory_indexer.integrations.assistants import EditRefusedError, EntryState
from directory_indexer.integrations.assistants.config_files import read_file, write_file
from directory_indexer.integrations.assistants.json_text import JSON
from directory_indexer.ranking.query import Query, parse_query
from directory_indexer.search.query_warnings import make_name_predicate, make_scope_and_kind_predicate
from directory_indexer.search.requests import SearchRequest
from directory_indexer.server.rest import Reply, Services
from directory_indexer.server.rest.arguments import (
    AddDirectoryCall,
    ChangesCall,
    ChangeSettingCall,
    ForgetDirectoryCall,
    LookAtDirectoryCall,
    LookAtForgettingCall,
    NearMissesCall,
    NoArguments,
    SkippedFilesCall,
    SuggestedDirectoriesCall,
)
from directory_indexer.server.rest.background import PATH
from directory_indexer.storage.documents.runs import Outcome

with lazily:
    from directory_indexer.collections import OpenCollection
    from directory_indexer.storage.documents.store import Snapshot

_HTTP_ACCEPTED = 202
_PREVIEW_SECONDS = 4.0
_FORGET_SECONDS = 10.0
_MAX_RULES, _MAX_KINDS = 12, 12
_MAX_COMPLETIONS, _MAX_ENTRIES = 20, 20_000
_POLL_SECONDS = 0.5
_LOOKING_SECONDS = 0.2
_CHANGEABLE_SETTINGS = frozenset(
    {"indexing.embedding", "indexing.ignore_patterns", "monitoring.battery_percent", "ocr.languages"}
)
"""None of them is or contains a command, a URL, a path or an API key."""

_DEFAULT_DIRECTORY_NAMES = {"DOCUMENTS": "Documents", "DESKTOP": "Desktop"}
"""Default names of the directories in `user-dirs.dirs`, which desktops translate."""

_SCAN_SECONDS = 4.0
_IGNORED_REASON = "ignored"
_MAX_SCANNED_FILES = 100_000
_MAX_CAUSES, _MAX_FILES = 6, 8

CONFIRMATION_SECONDS: Final = 600
_MAX_PENDING: Final = 100


def settings(services: Services, _: NoArguments) -> SettingsAnswer:
    """Return every setting as a command would load it now, with its description."""
    return settings_answer(_reload_config(services))


def change_setting(services: Services, call: ChangeSettingCall) -> SettingsAnswer:
    """Write a setting to the configuration file; comments and other entries are preserved.

    Raises:
        UsageError: the page must not change the setting, or the value is invalid.
        ConflictError: an environment variable overrides the file, or the file cannot be edited safely.
    """
    if call.key not in _CHANGEABLE_SETTINGS:
        raise UsageError(f"'{call.key}' cannot be changed here", hint="change it in the configuration file")
    value_type = KEYS[call.key].type
    value = value_type.convert(value_type.parse(call.value), Path) if call.value else None
    if call.value and (issue := next(iter(value_type.issues(value)), None)):
        raise UsageError(f"{call.key}{issue.path}: {issue.message}")
    settings = {setting.key: setting for setting in _reload_config(services).settings}
    if settings[call.key].source == Source.ENVIRONMENT:
        raise ConflictError(f"{settings[call.key].origin} is set and takes precedence", hint="unset it first")
    path = os.path.realpath(str(settings["config_file"].value))
    try:
        file = read_file(path, [os.path.dirname(path)])
        write_file(file, _set_in_config_text(file.text, call.key.split("."), value))
    except EditRefusedError as error:
        raise ConflictError(f"'{path}' was not changed: {error}", hint="change it in an editor") from error
    return settings_answer(_reload_config(services))


def status(services: Services, _: NoArguments) -> StatusAnswer:
    """Return the status of the index, without the lists of failed and skipped files."""
    with services.collections.opened(DEFAULT) as opened:
        report = opened.app.status.report()
    return status_answer(report._replace(failures=(), skipped_files=(), unreadable=()), verbose=False)


async def wait_for_changes(services: Services, call: ChangesCall) -> IndexVersion:
    """Return the state of the index, as soon as it differs from the state that the caller knows."""
    deadline = anyio.current_time() + call.wait
    while True:
        current = await services.executor.run(Pool.READ, lambda: _current_moment(services))
        left = deadline - anyio.current_time()
        if current.moment != call.moment or left <= 0 or services.is_ending():
            return await services.executor.run(Pool.READ, partial(_add_language_advice, services, current))
        await anyio.sleep(min(_POLL_SECONDS, left))


def suggested_directories(services: Services, call: SuggestedDirectoriesCall) -> SuggestedDirectories:
    """Return directories to suggest: the usual ones, or those whose paths begin with the input."""
    with services.collections.opened(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        tracked = snapshot.directories.all()
    own = services.collections.app.loaded.data_dir
    candidates = _complete_directory(os.path.expanduser(call.path)) if call.path else _common_directories()
    paths = dict.fromkeys(file_path(path) for path in candidates if not own.is_relative_to(path) or call.path)
    untracked = [path for path in paths if not any(lies_in(path, root) for root in tracked)]
    return SuggestedDirectories(tuple(path for path in untracked if call.path or _has_files(path)))


def preview_adding(services: Services, call: LookAtDirectoryCall) -> AddPreview:
    """Return a preview of adding a directory, within a time limit."""
    if not os.path.isabs(os.path.expanduser(call.path)):
        raise UsageError(f"'{call.path}' is not an absolute path", hint="start it with / or ~")
    deadline = time.monotonic() + _PREVIEW_SECONDS
    with services.collections.opened(DEFAULT) as opened:
        plan, is_whole = opened.app.runs.indexer.plan_addition(call.path, must_stop=lambda: time.monotonic() > deadline)
        seconds = opened.app.status.seconds_to_embed(estimate_text_bytes(plan) // BYTES_PER_TOKEN)
        redone = opened.app.runs.indexer.estimate_work([plan]).redone
    rules = Counter(path.rule for path in plan.ignored)
    return AddPreview(
        path=plan.directory,
        files=len(plan.requests),
        bytes=plan.n_bytes,
        skipped=plan.skip_counts.total(),
        failed=len(plan.failures),
        ignored=len(plan.ignored),
        rules=tuple(RuleCount(*count) for count in rules.most_common(_MAX_RULES)),
        kinds=count_extensions([request.source.path for request in plan.requests], most=_MAX_KINDS),
        whole=is_whole,
        seconds=seconds,
        index_bytes=BYTES_PER_TEXT_BYTE * estimate_text_bytes(plan),
        free_bytes=shutil.disk_usage(services.collections.app.loaded.data_dir).free,
        redone=redone,
        confirmation=services.confirmations.issue(ConfirmedAction.ADD, plan.directory),
    )


def add_directory(services: Services, call: AddDirectoryCall) -> Reply:
    """Start indexing a previewed directory."""
    root = services.confirmations.redeem(ConfirmedAction.ADD, call.confirmation)
    entry = services.runs.add(root)
    return Reply(entry, _HTTP_ACCEPTED, {"Location": f"{PATH}/{entry.id}"})


def preview_forgetting(services: Services, call: LookAtForgettingCall) -> ForgetPreview:
    """Return a preview of forgetting a directory.

    Raises:
        NotIndexedError: the directory is not tracked.
    """
    root = file_path(call.path)
    with services.collections.opened(DEFAULT) as opened:
        directory = next((tracked for tracked in opened.app.status.report().directories if tracked.path == root), None)
    if directory is None:
        raise NotIndexedError(f"{display(root)} is not tracked")
    confirmation = services.confirmations.issue(ConfirmedAction.FORGET, root)
    return ForgetPreview(root, directory.n_files, directory.n_chunks, directory.n_embedded, confirmation)


def forget_directory(services: Services, call: ForgetDirectoryCall) -> ForgottenAnswer:
    """Forget a previewed directory; its files are not touched.

    Raises:
        ConflictError: an index run is in progress, and does not end within seconds, as a look for changes does.
    """
    stop_at = time.monotonic() + _FORGET_SECONDS
    with services.collections.opened(DEFAULT) as opened:
        root = services.confirmations.redeem(ConfirmedAction.FORGET, call.confirmation)
        try:
            n_files = opened.app.runs.indexer.forget(
                exact_text(root), stop_reason=lambda: Outcome.OUT_OF_TIME if time.monotonic() > stop_at else None
            )
        except LockedError as error:
            raise ConflictError(
                "an index run is in progress", hint="pause or stop it, then forget the directory"
            ) from error
        notes = opened.app.docstore.maintenance.residue_warnings()
    with contextlib.suppress(OSError):  # it may contain file names of the directory
        (services.collections.app.loaded.data_dir / "dirindex.log").unlink(missing_ok=True)
    return ForgottenAnswer(root, n_files, tuple(notes))


def list_skipped_files(services: Services, call: SkippedFilesCall) -> UnindexedFiles:
    """List the files that are not in the index, with reasons.

    Raises:
        NotIndexedError: the path is not in a tracked directory.
    """
    within = file_path(call.path) if call.path else None
    with services.collections.opened(DEFAULT) as opened:
        with opened.app.docstore.snapshot() as snapshot:
            counts = dict(snapshot.left_out.counts(within))
        if call.reason == _IGNORED_REASON:
            return _list_ignored(_ExclusionScan(opened, within), call)._replace(reasons=counts)
        with opened.app.docstore.snapshot() as snapshot:
            rows = snapshot.left_out.listed(within, reason=call.reason, limit=call.limit + 1, offset=call.offset)
    files = tuple(map(unindexed_file, rows[: call.limit]))
    return UnindexedFiles(counts, files, call.offset + call.limit if len(rows) > call.limit else None, truncated=False)


def near_misses(services: Services, call: NearMissesCall) -> NearMisses:
    """Return failed and skipped files in the scope of a query, those with its words in their names first."""
    within = file_path(call.path) if call.path else None
    query = parse_query(call.query)
    with services.collections.opened(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        rows = snapshot.left_out.listed(within, reason="", limit=_MAX_SCANNED_FILES, offset=0)
        in_scope = filter(_make_scope_test(snapshot, call, query), map(unindexed_file, rows))
        misses = _group_near_misses(((file.reason, file) for file in in_scope), make_name_predicate(query))
    return misses._replace(truncated=len(rows) == _MAX_SCANNED_FILES)


def near_misses_excluded_by_rules(services: Services, call: NearMissesCall) -> NearMisses:
    """Return paths excluded by rules in the scope of a query, those with its words in their names first.

    Raises:
        NotIndexedError: the path is not in a tracked directory.
    """
    within = file_path(call.path) if call.path else None
    query = parse_query(call.query)
    with services.collections.opened(DEFAULT) as opened:
        scan = _ExclusionScan(opened, within)
        with opened.app.docstore.snapshot() as snapshot:
            in_scope = filter(_make_scope_test(snapshot, call, query), scan.paths())
            misses = _group_near_misses(((file.detail or "", file) for file in in_scope), make_name_predicate(query))
    return misses._replace(truncated=not scan.is_complete)


class ConfirmedAction(StrEnum):
    """Actions that need a confirmation."""

    ADD = "add"
    FORGET = "forget"


class Confirmations:
    """The pending confirmations."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: OrderedDict[str, _PendingAction] = OrderedDict()

    def issue(self, action: ConfirmedAction, path: FilePath) -> str:
        """Return a new token that confirms a previewed action."""
        confirmation = secrets.token_urlsafe(24)
        with self._lock:
            self._pending[confirmation] = _PendingAction(action, path, self._clock() + CONFIRMATION_SECONDS)
            while len(self._pending) > _MAX_PENDING:
                self._pending.popitem(last=False)
        return confirmation

    def redeem(self, action: ConfirmedAction, confirmation: str) -> FilePath:
        """Consume a token, and return the directory of the confirmed action.

        Raises:
            ConflictError: the token is unknown, used, expired or for another action.
        """
        with self._lock:
            pending = self._pending.pop(confirmation, None)
        if pending is None or pending.act is not action or self._clock() > pending.expires_at:
            raise ConflictError("the confirmation is unknown, used or expired", hint="request the preview again")
        return pending.path


def _set_in_config_text(text: str, keys: list[str], value: object) -> str:
    written = list(value) if isinstance(value, tuple) else value
    if JSON.state(text, keys, written) is not EntryState.ABSENT:
        text = JSON.without_entry(text, keys, None, made=0)
    return text if value is None else JSON.with_entry(text, keys, written)


def _reload_config(services: Services) -> LoadedConfig:
    loaded = services.collections.app.loaded
    # The places were set when the server started, and their origin remains that: an option of its command line.
    places = {setting.key: setting for setting in loaded.settings if setting.key in {"config_file", "data_dir"}}
    file = Path(str(places["config_file"].value)) if loaded.file else None
    reloaded = load_config(file=file, data_dir=loaded.data_dir, environ=os.environ)
    return reloaded._replace(settings=tuple(places.get(setting.key, setting) for setting in reloaded.settings))


def _current_moment(services: Services) -> IndexVersion:
    with services.collections.opened(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        summary = opened.app.status.correct_running_state(snapshot.overview.summary())
        counts = snapshot.overview.file_counts()
        state = f"{snapshot.overview.state_id()}.{summary.is_running:d}"
        records = snapshot.runs.latest(1) if summary.is_running else ()
    run = next((run_of(record, goes_on=True) for record in records if record.outcome is None), None)
    progress = (run.id, run.phase, run.files_done, run.chunks_done, run.pages_done) if run else ()
    return IndexVersion(
        moment="-".join(map(str, (state, summary.n_directories, *progress))),
        state=state,
        directories=summary.n_directories,
        files=counts.n_indexed,
        skipped=counts.n_skipped,
        failed=counts.n_failed,
        chunks=summary.n_chunks,
        embedded=summary.n_embedded,
        run=run,
    )


def _add_language_advice(services: Services, now: IndexVersion) -> IndexVersion:
    with services.collections.opened(DEFAULT) as opened:
        advice = opened.app.language_advice()
    return now._replace(advice=advice.short if advice else None)


def _common_directories() -> Iterator[str]:
    """Return the usual directories of a user that exist: documents, desktop, notes, and the working directory."""
    home = Path.home()
    desktop_paths = _desktop_directories(home)
    paths = [desktop_paths.get(name, home / usual) for name, usual in _DEFAULT_DIRECTORY_NAMES.items()]
    paths += [home / "Notes", Path.cwd()]
    return (str(path) for path in paths if path.is_dir() and not home.is_relative_to(path))


def _has_files(directory: str) -> bool:
    """Return whether a file that is not hidden lies below a directory; true if that takes too long to know."""
    deadline = time.monotonic() + _LOOKING_SECONDS
    for _, directories, names in os.walk(directory):
        if any(not name.startswith(".") for name in names) or time.monotonic() > deadline:
            return True
        directories[:] = [name for name in directories if not name.startswith(".")]
    return False


def _desktop_directories(home: Path) -> dict[str, Path]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    try:
        text = (config / "user-dirs.dirs").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: home / path for name, path in re.findall(r'^XDG_(\w+)_DIR="\$HOME/([^"\n]+)"', text, re.MULTILINE)}


def _complete_directory(typed: str) -> list[str]:
    """Return the directories whose paths begin with the input; hidden ones only if the input is hidden."""
    parent, prefix = os.path.split(typed)
    if not os.path.isabs(parent):
        return []
    paths: list[str] = []
    with contextlib.suppress(OSError, ValueError), os.scandir(parent) as entries:
        for entry in itertools.islice(entries, _MAX_ENTRIES):
            is_match = entry.name.casefold().startswith(prefix.casefold())
            if is_match and (prefix or not entry.name.startswith(".")) and entry.is_dir():
                paths.append(entry.path)
    return sorted(paths, key=str.casefold)[:_MAX_COMPLETIONS]


def _make_scope_test(snapshot: Snapshot, call: NearMissesCall, query: Query) -> Callable[[UnindexedFile], bool]:
    scope = (file_path(call.path),) if call.path else ()
    is_in_scope = make_scope_and_kind_predicate(
        snapshot, SearchRequest(call.query, scope=scope, kinds=call.types), query
    )
    return lambda file: is_in_scope(FilePath(file.path))


def _group_near_misses(
    files_by_cause: Iterable[tuple[str, UnindexedFile]], is_named: Callable[[FilePath], bool]
) -> NearMisses:
    """Count files by cause, and separate those whose names match the query."""
    causes = Counter[str]()
    named: list[UnindexedFile] = []
    others: list[UnindexedFile] = []
    for cause, file in files_by_cause:
        causes[cause] += 1
        if is_named(FilePath(file.path)):
            named.append(file)
        elif len(others) < _MAX_FILES:
            others.append(file)
    most = tuple(CauseCount(*count) for count in causes.most_common(_MAX_CAUSES))
    return NearMisses(causes.total(), most, len(named), tuple(named[:_MAX_FILES]), tuple(others), truncated=False)


def _list_ignored(scan: _ExclusionScan, call: SkippedFilesCall) -> UnindexedFiles:
    files = tuple(islice(scan.paths(), call.offset, call.offset + call.limit + 1))
    following = call.offset + call.limit if len(files) > call.limit else None
    return UnindexedFiles({}, files[: call.limit], following, truncated=not scan.is_complete)


class _ExclusionScan:
    """A time-limited walk for paths that rules exclude."""

    def __init__(self, opened: OpenCollection, within: FilePath | None) -> None:
        with opened.app.docstore.snapshot() as snapshot:
            tracked = tuple(snapshot.directories.all())
        self._roots = tracked if within is None else tuple(root for root in tracked if lies_in(within, root))
        if within is not None and not self._roots:
            raise NotIndexedError(f"{display(within)} is not tracked")
        self._indexer = opened.app.runs.indexer
        self._within = within
        self.is_complete = True

    def paths(self) -> Iterator[UnindexedFile]:
        deadline = time.monotonic() + _SCAN_SECONDS
        for root in self._roots:
            for ignored in self._indexer.directory_plans.ignored(root):
                if self._within is None or lies_in(ignored.path, self._within):
                    yield ignored_entry(ignored)
                if time.monotonic() > deadline:
                    self.is_complete = False
                    return


class _PendingAction(NamedTuple):
    act: ConfirmedAction
    path: FilePath
    expires_at: float
