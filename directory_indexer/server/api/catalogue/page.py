"""What a server with a page answers that page alone: what its owner does. No key allows it."""

from __future__ import annotations

from directory_indexer.registry.keys import Right
from directory_indexer.server.api import left_out, page_acts
from directory_indexer.server.api.arguments import NoArguments
from directory_indexer.server.api.catalogue.meanings import TO_OPERATION
from directory_indexer.server.api.directory_arguments import (
    AddDirectoryCall,
    ChangesCall,
    ForgetDirectoryCall,
    LeftOutCall,
    LookAtDirectoryCall,
    LookAtForgettingCall,
    NearMissesCall,
    SuggestedDirectoriesCall,
)
from directory_indexer.server.api.operations import Method, Operation, patiently, slowly
from directory_indexer.wire.directories import (
    AddingAnswer,
    ForgettingAnswer,
    ForgottenAnswer,
    LeftOutList,
    NearMisses,
    SuggestedDirectories,
)
from directory_indexer.wire.operations import OperationEntry
from directory_indexer.wire.settings import SettingsAnswer
from directory_indexer.wire.status import IndexMoment, StatusAnswer

_NOT_TRACKED = {404: "It is not tracked."}
_NOT_CONFIRMED = {409: "The confirmation is unknown, used or expired."}

PAGE = (
    Operation(
        "getStatus",
        Method.GET,
        "/api/v1/status",
        Right.OWNER,
        "Get the status of the index",
        "Give the status of the index: its directories, its model and its runs.",
        NoArguments,
        StatusAnswer,
        slowly(page_acts.status),
    ),
    Operation(
        "awaitChanges",
        Method.GET,
        "/api/v1/changes",
        Right.OWNER,
        "Wait for a change of the index",
        "Give the counts of the index and how far a run is, at once or when they have changed.",
        ChangesCall,
        IndexMoment,
        page_acts.changes,
    ),
    Operation(
        "listLeftOut",
        Method.GET,
        "/api/v1/left_out",
        Right.OWNER,
        "List what is not in the index",
        "List what failed, was skipped, is waiting or is left out by a rule, and why.",
        LeftOutCall,
        LeftOutList,
        slowly(left_out.left_out),
        failures=_NOT_TRACKED,
    ),
    Operation(
        "findNearMisses",
        Method.GET,
        "/api/v1/left_out/near",
        Right.OWNER,
        "Find what is not in the index and a query may be about",
        "Tell what failed or was skipped where a query looks, first what has words of it in its name.",
        NearMissesCall,
        NearMisses,
        slowly(left_out.near_misses),
    ),
    Operation(
        "findNearMissesByRules",
        Method.GET,
        "/api/v1/left_out/by_rules",
        Right.OWNER,
        "Find what rules leave out and a query may be about",
        "Tell what rules leave out where a query looks, and by which, first what has words of it in its name.",
        NearMissesCall,
        NearMisses,
        slowly(left_out.near_misses_by_rules),
        failures=_NOT_TRACKED,
    ),
    Operation(
        "getSettings",
        Method.GET,
        "/api/v1/settings",
        Right.OWNER,
        "Get the settings",
        "Give every setting, where its value comes from and what it does.",
        NoArguments,
        SettingsAnswer,
        slowly(page_acts.settings),
    ),
    Operation(
        "suggestDirectories",
        Method.GET,
        "/api/v1/directories/suggested",
        Right.OWNER,
        "Suggest directories to add",
        "List directories that might be added: those that most people have, or those whose paths begin as typed.",
        SuggestedDirectoriesCall,
        SuggestedDirectories,
        slowly(page_acts.suggested_directories),
    ),
    Operation(
        "lookAtDirectory",
        Method.POST,
        "/api/v1/directories/look",
        Right.OWNER,
        "Look at a directory to add",
        "Tell what would be read if a directory were added. Nothing is changed.",
        LookAtDirectoryCall,
        AddingAnswer,
        slowly(page_acts.look_at_directory),
        failures={409: "It is tracked already, or lies inside or around a tracked directory."},
    ),
    Operation(
        "addDirectory",
        Method.POST,
        "/api/v1/directories/add",
        Right.OWNER,
        "Add a directory",
        "Index a directory that was looked at, and keep it up to date.",
        AddDirectoryCall,
        OperationEntry,
        patiently(page_acts.add_directory),
        status=202,
        failures=_NOT_CONFIRMED,
        links=TO_OPERATION,
    ),
    Operation(
        "lookAtForgetting",
        Method.POST,
        "/api/v1/directories/look_at_forgetting",
        Right.OWNER,
        "Look at what forgetting would remove",
        "Tell what would be removed if a directory were forgotten. Nothing is changed.",
        LookAtForgettingCall,
        ForgettingAnswer,
        slowly(page_acts.look_at_forgetting),
        failures=_NOT_TRACKED,
    ),
    Operation(
        "forgetDirectory",
        Method.POST,
        "/api/v1/directories/forget",
        Right.OWNER,
        "Forget a directory",
        "Stop tracking a directory that was looked at, and remove what was indexed for it; its files stay as they are.",
        ForgetDirectoryCall,
        ForgottenAnswer,
        patiently(page_acts.forget_directory),
        failures={409: "The confirmation is unknown, used or expired; or an index run is going on."},
    ),
)
