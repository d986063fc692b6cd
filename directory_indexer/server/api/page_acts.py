"""What only the page of `dirindex ui` may ask for: what its owner does with the index.

A directory is added or forgotten only with the confirmation that a look at it gave.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections import Counter

from directory_indexer.config.collections import DEFAULT
from directory_indexer.errors import ConflictError, LockedError, NotIndexedError, UsageError
from directory_indexer.indexing.indexer import BYTES_PER_TEXT_BYTE, BYTES_PER_TOKEN, n_text_bytes
from directory_indexer.paths import display, exact_text, file_path
from directory_indexer.server.api.arguments import NoArguments
from directory_indexer.server.api.confirmations import Act
from directory_indexer.server.api.directory_arguments import (
    AddDirectoryCall,
    ForgetDirectoryCall,
    LookAtDirectoryCall,
    LookAtForgettingCall,
)
from directory_indexer.server.api.operations import Reply, Services
from directory_indexer.server.api.runs import PATH
from directory_indexer.wire.directories import (
    AddingAnswer,
    ForgettingAnswer,
    ForgottenAnswer,
    RuleCount,
    endings_of,
)
from directory_indexer.wire.settings import SettingsAnswer, settings_answer
from directory_indexer.wire.status import StatusAnswer, status_answer

_ACCEPTED = 202
_LOOK_SECONDS = 4.0
_MOST_RULES, _MOST_KINDS = 12, 12


def settings(services: Services, _: NoArguments) -> SettingsAnswer:
    """Give every setting with what it is for."""
    return settings_answer(services.collections.loaded)


def status(services: Services, _: NoArguments) -> StatusAnswer:
    """Tell how the index stands; what is not in it is another list."""
    with services.collections.using(DEFAULT) as opened:
        report = opened.app.status.report()
    return status_answer(report._replace(failures=(), skipped_files=(), unreadable=()), verbose=False)


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
