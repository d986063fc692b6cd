"""Record of an error over HTTP."""

from __future__ import annotations

from typing import Annotated, NamedTuple


class HttpError(NamedTuple):
    """The error of a failed request."""

    error: Annotated[str, "A name for the reason, the same from release to release."]
    detail: Annotated[str, "What happened and what to do, for people."]
    status_code: Annotated[int, "The status of the answer."]
    timestamp: Annotated[str, "When."]
    request_id: Annotated[str, "The id of the request, as in the header X-Request-Id and in the log of the server."]
