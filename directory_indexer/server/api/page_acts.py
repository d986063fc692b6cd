"""What only the page of `dirindex ui` may ask for: what its owner does with the index.

A directory is added or forgotten only with the confirmation that a look at it gave.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import anyio

from directory_indexer.assistants.config_files import read_file, write_file
from directory_indexer.assistants.entries import EditRefusedError, Standing
from directory_indexer.assistants.json_text import JSON
from directory_indexer.config import LoadedConfig, load_config
from directory_indexer.config.collections import DEFAULT
from directory_indexer.config.sources import KEYS, Source
from directory_indexer.errors import ConflictError, LockedError, NotIndexedError, UsageError
from directory_indexer.indexing.indexer import BYTES_PER_TEXT_BYTE, BYTES_PER_TOKEN, n_text_bytes
from directory_indexer.paths import display, exact_text, file_path, lies_in
from directory_indexer.server.api.arguments import NoArguments
from directory_indexer.server.api.confirmations import Act
from directory_indexer.server.api.directory_arguments import (
    AddDirectoryCall,
    ChangesCall,
    ChangeSettingCall,
    ForgetDirectoryCall,
    LookAtDirectoryCall,
    LookAtForgettingCall,
    SuggestedDirectoriesCall,
)
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.server.api.runs import PATH
from directory_indexer.wire.directories import (
    AddingAnswer,
    ForgettingAnswer,
    ForgottenAnswer,
    RuleCount,
    SuggestedDirectories,
    endings_of,
)
from directory_indexer.wire.runs import run_of
from directory_indexer.wire.settings import SettingsAnswer, settings_answer
from directory_indexer.wire.status import IndexMoment, StatusAnswer, status_answer

_ACCEPTED = 202
_LOOK_SECONDS = 4.0
_MOST_RULES, _MOST_KINDS = 12, 12
_MOST_COMPLETIONS, _MOST_ENTRIES = 20, 20_000
_POLL_SECONDS = 0.5
_CHANGEABLE = frozenset(
    {"indexing.embedding", "indexing.ignore_patterns", "monitoring.battery_percent", "ocr.languages"}
)
"""None of them is or holds a command, an address, a path or a key of a service."""

_USUAL = {"DOCUMENTS": "Documents", "DESKTOP": "Desktop"}
"""Directories that desktops make, by what they call them in `user-dirs.dirs`; people have them in their language."""


def settings(services: Services, _: NoArguments) -> SettingsAnswer:
    """Return every setting as a command would have it now, with what it is for."""
    return settings_answer(_loaded_anew(services))


def change_setting(services: Services, call: ChangeSettingCall) -> SettingsAnswer:
    """Write a setting into the configuration file, whose comments and other entries stay as they are.

    Raises:
        UsageError: the page must not change it, or it cannot have that value.
        ConflictError: a variable is stronger, or the file cannot be changed safely.
    """
    if call.key not in _CHANGEABLE:
        raise UsageError(f"'{call.key}' cannot be changed here", hint="change it in the configuration file")
    kind = KEYS[call.key].kind
    value = kind.typed(kind.from_text(call.value), Path) if call.value else None
    if call.value and (mistake := next(iter(kind.mistakes(value)), None)):
        raise UsageError(f"{call.key}{mistake.place}: {mistake.words}")
    settings = {one.key: one for one in _loaded_anew(services).settings}
    if settings[call.key].source == Source.ENVIRONMENT:
        raise ConflictError(f"{settings[call.key].origin} is set, which is stronger", hint="unset it first")
    path = os.path.realpath(str(settings["config_file"].value))
    try:
        file = read_file(path, [os.path.dirname(path)])
        write_file(file, _with_setting(file.text, call.key.split("."), value))
    except EditRefusedError as error:
        raise ConflictError(f"'{path}' was not changed: {error}", hint="change it in an editor") from error
    return settings_answer(_loaded_anew(services))


def _with_setting(text: str, keys: list[str], value: object) -> str:
    written = list(value) if isinstance(value, tuple) else value
    if JSON.standing(text, keys, written) is not Standing.ABSENT:
        text = JSON.without_entry(text, keys, None, made=0)
    return text if value is None else JSON.with_entry(text, keys, written)


def _loaded_anew(services: Services) -> LoadedConfig:
    loaded = services.collections.loaded
    # Where they lie was settled when the server started, and their origin stays that: an option of its command line.
    places = {one.key: one for one in loaded.settings if one.key in {"config_file", "data_dir"}}
    file = Path(str(places["config_file"].value)) if loaded.file else None
    anew = load_config(file=file, data_dir=loaded.data_dir, environ=os.environ)
    return anew._replace(settings=tuple(places.get(one.key, one) for one in anew.settings))


def status(services: Services, _: NoArguments) -> StatusAnswer:
    """Tell how the index stands; what is not in it is another list."""
    with services.collections.using(DEFAULT) as opened:
        report = opened.app.status.report()
    return status_answer(report._replace(failures=(), skipped_files=(), unreadable=()), verbose=False)


async def changes(services: Services, call: ChangesCall) -> IndexMoment:
    """Return how the index stands, at once or when it stands otherwise than the caller knows."""
    deadline = anyio.current_time() + call.wait
    while True:
        now = await services.desk.quickly(lambda: _moment(services))
        left = deadline - anyio.current_time()
        if now.moment != call.moment or left <= 0 or services.is_ending():
            return await services.desk.quickly(partial(_with_advice, services, now))
        await anyio.sleep(min(_POLL_SECONDS, left))


def suggested_directories(services: Services, call: SuggestedDirectoriesCall) -> SuggestedDirectories:
    """List directories that might be added, or those whose paths begin with what was typed."""
    with services.collections.using(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        tracked = snapshot.directories.all()
    own = services.collections.data_dir
    found = _completions(os.path.expanduser(call.path)) if call.path else _usual_directories()
    paths = dict.fromkeys(file_path(one) for one in found if not own.is_relative_to(one) or call.path)
    return SuggestedDirectories(tuple(one for one in paths if not any(lies_in(one, root) for root in tracked)))


def look_at_directory(services: Services, call: LookAtDirectoryCall) -> AddingAnswer:
    """Tell what would be read if a directory were added, as far as a short look can tell."""
    if not os.path.isabs(os.path.expanduser(call.path)):
        raise UsageError(f"'{call.path}' is not an absolute path", hint="start it with / or ~")
    deadline = time.monotonic() + _LOOK_SECONDS
    with services.collections.using(DEFAULT) as opened:
        plan, is_whole = opened.app.indexer.addition(call.path, must_stop=lambda: time.monotonic() > deadline)
        seconds = opened.app.status.seconds_to_embed(n_text_bytes(plan) // BYTES_PER_TOKEN)
        redone = opened.app.indexer.estimate([plan]).redone
    rules = Counter(one.rule for one in plan.ignored)
    return AddingAnswer(
        path=plan.directory,
        files=len(plan.requests),
        bytes=plan.n_bytes,
        skipped=plan.skip_counts.total(),
        failed=len(plan.failures),
        ignored=len(plan.ignored),
        rules=tuple(RuleCount(*one) for one in rules.most_common(_MOST_RULES)),
        kinds=endings_of([one.source.path for one in plan.requests], most=_MOST_KINDS),
        whole=is_whole,
        seconds=seconds,
        index_bytes=BYTES_PER_TEXT_BYTE * n_text_bytes(plan),
        free_bytes=shutil.disk_usage(services.collections.data_dir).free,
        redone=redone,
        confirmation=services.confirmations.new(Act.ADD, plan.directory),
    )


def add_directory(services: Services, call: AddDirectoryCall) -> Reply:
    """Begin to index a directory that was looked at."""
    root = services.confirmations.use(Act.ADD, call.confirmation)
    entry = services.runs.add(root)
    return Reply(entry, _ACCEPTED, {"Location": f"{PATH}/{entry.id}"})


def look_at_forgetting(services: Services, call: LookAtForgettingCall) -> ForgettingAnswer:
    """Tell what would be removed if a directory were forgotten.

    Raises:
        NotIndexedError: it is not tracked.
    """
    root = file_path(call.path)
    with services.collections.using(DEFAULT) as opened:
        found = next((one for one in opened.app.status.report().directories if one.path == root), None)
    if found is None:
        raise NotIndexedError(f"{display(root)} is not tracked")
    confirmation = services.confirmations.new(Act.FORGET, root)
    return ForgettingAnswer(root, found.n_files, found.n_chunks, found.n_embedded, confirmation)


def forget_directory(services: Services, call: ForgetDirectoryCall) -> ForgottenAnswer:
    """Forget a directory that was looked at; its files stay as they are.

    Raises:
        ConflictError: an index run goes on.
    """
    with services.collections.using(DEFAULT) as opened:
        root = services.confirmations.use(Act.FORGET, call.confirmation)
        try:
            n_files = opened.app.indexer.forget(exact_text(root), wait=False)
        except LockedError as error:
            raise ConflictError("an index run goes on", hint="pause or stop it, then forget the directory") from error
        notes = opened.app.docstore.upkeep.left_behind()
    with contextlib.suppress(OSError):  # it may name files of the directory
        (services.collections.data_dir / "dirindex.log").unlink(missing_ok=True)
    return ForgottenAnswer(root, n_files, tuple(notes))


def _moment(services: Services) -> IndexMoment:
    with services.collections.using(DEFAULT) as opened, opened.app.docstore.snapshot() as snapshot:
        summary = opened.app.status.checked(snapshot.overview.summary())
        state = f"{snapshot.overview.state_name()}.{summary.is_running:d}"
        records = snapshot.runs.latest(1) if summary.is_running else ()
    run = next((run_of(one, goes_on=True) for one in records if one.outcome is None), None)
    progress = (run.id, run.phase, run.files_done, run.chunks_done, run.pages_done) if run else ()
    return IndexMoment(
        moment="-".join(map(str, (state, summary.n_directories, *progress))),
        state=state,
        directories=summary.n_directories,
        files=summary.n_files,
        chunks=summary.n_chunks,
        embedded=summary.n_embedded,
        run=run,
    )


def _with_advice(services: Services, now: IndexMoment) -> IndexMoment:
    with services.collections.using(DEFAULT) as opened:
        advice = opened.app.language_advice()
    return now._replace(advice=advice.text if advice else None)


def _usual_directories() -> Iterator[str]:
    """Yield the directories of a person that are there: documents, desktop, notes, and where the server was started."""
    home = Path.home()
    named = _named_by_the_desktop(home)
    places = [named.get(name, home / usual) for name, usual in _USUAL.items()]
    places += [home / "Notes", Path.cwd()]
    return (str(one) for one in places if one.is_dir() and not home.is_relative_to(one))


def _named_by_the_desktop(home: Path) -> dict[str, Path]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    try:
        text = (config / "user-dirs.dirs").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    return {name: home / path for name, path in re.findall(r'^XDG_(\w+)_DIR="\$HOME/([^"\n]+)"', text, re.MULTILINE)}


def _completions(typed: str) -> list[str]:
    """List the directories whose paths begin with what was typed; those that begin with a dot only if it does."""
    around, beginning = os.path.split(typed)
    if not os.path.isabs(around):
        return []
    found: list[str] = []
    with contextlib.suppress(OSError, ValueError), os.scandir(around) as entries:
        for entry in itertools.islice(entries, _MOST_ENTRIES):
            is_meant = entry.name.casefold().startswith(beginning.casefold())
            if is_meant and (beginning or not entry.name.startswith(".")) and entry.is_dir():
                found.append(entry.path)
    return sorted(found, key=str.casefold)[:_MOST_COMPLETIONS]
