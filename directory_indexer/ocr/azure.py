"""Has pages read by Azure Document Intelligence: words with their places, paragraphs and tables."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

import httpx

from directory_indexer.errors import PageRefusedError, ProviderError
from directory_indexer.extractors.pdf.raster import EncodedPage
from directory_indexer.ocr.engine import PageEstimate
from directory_indexer.ocr.layout import lines_of
from directory_indexer.ocr.patience import RequestError, Trouble, Waiting
from directory_indexer.ocr.service import Access, Calls, Profile, Transcript
from directory_indexer.ocr.transport import Reply
from directory_indexer.ocr.values import object_in, text_in


class AzureService:
    """One model of Document Intelligence. A page is handed over, and asked for until it is read."""

    def __init__(self, access: Access, waiting: Waiting) -> None:
        self._model = access.model
        self.calls = Calls(_PROFILE, access, waiting)
        self._url = self.calls.url(
            f"/documentintelligence/documentModels/{access.model}:analyze",
            **{"api-version": _API_VERSION, "stringIndexType": "unicodeCodePoint"},
        )

    @property
    def recipe(self) -> str:
        """Name all that changes what it reads."""
        return f"azure/{self._model} {_API_VERSION}, layout {_LAYOUT_VERSION}"

    def estimate(self) -> PageEstimate:
        """Tell what a page costs: it is counted as a page."""
        return PageEstimate()

    def read(self, page: EncodedPage, *, until: float) -> Transcript:
        """Have a page read before a moment of the clock; what failed in the service is handed over once more."""
        body = json.dumps({"base64Source": base64.b64encode(page.content).decode("ascii")}).encode()
        for _ in range(_MOST_ANALYSES - 1):
            try:
                return self._analysed(body, until)
            except RequestError as error:
                if error.trouble is not Trouble.BROKEN:
                    raise
        return self._analysed(body, until)

    def _analysed(self, body: bytes, until: float) -> Transcript:
        accepted = self.calls.ask("POST", self._url, body, until=until)
        operation = self._operation(accepted)
        found: dict[str, Any] = {}
        reply, n_polls = accepted, 0
        while text_in(found, "status") in _UNFINISHED or not n_polls:
            self.calls.patience.pause(self._seconds_before(reply, n_polls), until=until)
            found, reply = self.calls.ask_object("GET", operation, until=until)
            n_polls += 1
        return self._transcript(found)

    def _operation(self, accepted: Reply) -> httpx.URL:
        """Return the address at which the result will be, if the key may go there."""
        written = accepted.headers.get("operation-location", "")
        if not written:
            raise RequestError(Trouble.INVALID, "did not say where the result will be")
        try:
            operation = httpx.URL(written)
        except (httpx.InvalidURL, ValueError):
            operation = httpx.URL("")
        ours = self.calls.address
        if (operation.scheme, operation.host, operation.port) != (ours.scheme, ours.host, ours.port):
            elsewhere = self.calls.shown(f"{operation.scheme}://{operation.netloc.decode('ascii', 'replace')}")
            raise ProviderError(
                f"{self.calls.place} wants the key to be sent to {elsewhere}",
                hint="set ocr.azure.endpoint to the resource itself",
            )
        return operation.copy_with(username=None, password=None)

    def _seconds_before(self, reply: Reply, n_polls: int) -> float:
        asked = self.calls.patience.seconds_asked_for(reply.headers, None)
        usual = min(_FIRST_POLL_SECONDS + n_polls / 2, _LONGEST_POLL_SECONDS)
        return usual if asked is None else min(max(asked, _SHORTEST_POLL_SECONDS), _LONGEST_POLL_SECONDS)

    def _transcript(self, found: dict[str, Any]) -> Transcript:
        status = text_in(found, "status")
        if status == "succeeded":
            result = object_in(found, "analyzeResult")
            if not isinstance(result.get("pages"), list):
                raise RequestError(Trouble.INVALID, "answered without the pages that it has read")
            return Transcript(lines_of(result))
        if status not in _FINISHED:
            raise RequestError(Trouble.INVALID, "answered something that is not what Document Intelligence answers")
        error = object_in(found, "error")
        inner = object_in(error, "innererror")
        message = self.calls.shown(text_in(inner, "message") or text_in(error, "message") or status)
        if text_in(error, "code") in _OWN_FAULTS:
            raise RequestError(Trouble.BROKEN, f"failed over a page: {message}")
        raise PageRefusedError(f"{self.calls.place} cannot read a page: {message}")


_PROFILE: Final = Profile("Azure Document Intelligence", "ocr.azure", "ocp-apim-subscription-key")
_API_VERSION: Final = "2024-11-30"
_LAYOUT_VERSION: Final = 1
_MOST_ANALYSES: Final = 2
_UNFINISHED: Final = frozenset({"notStarted", "running"})
_FINISHED: Final = frozenset({"failed", "canceled", "skipped"})
_OWN_FAULTS: Final = frozenset({"InternalServerError", "ServiceUnavailable", "Timeout"})
_FIRST_POLL_SECONDS: Final = 2.0
_SHORTEST_POLL_SECONDS: Final = 1.0
_LONGEST_POLL_SECONDS: Final = 10.0
