"""OCR by Azure Document Intelligence: words with their positions, paragraphs and tables."""

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
    """One model of Document Intelligence. A page is submitted, and its result polled."""

    def __init__(self, access: Access, waiting: Waiting) -> None:
        self._model = access.model
        self.calls = Calls(_PROFILE, access, waiting)
        self._url = self.calls.url(
            f"/documentintelligence/documentModels/{access.model}:analyze",
            **{"api-version": _API_VERSION, "stringIndexType": "unicodeCodePoint"},
        )

    @property
    def recipe(self) -> str:
        """The service, model and versions that affect the result."""
        return f"azure/{self._model} {_API_VERSION}, layout {_LAYOUT_VERSION}"

    def estimate(self) -> PageEstimate:
        """Return the cost of a page, which is counted as a page."""
        return PageEstimate()

    def read(self, page: EncodedPage, *, until: float) -> Transcript:
        """Read a page before a deadline; a failure within the service is retried once."""
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
        result: dict[str, Any] = {}
        reply, n_polls = accepted, 0
        while text_in(result, "status") in _UNFINISHED or not n_polls:
            self.calls.patience.pause(self._seconds_before(reply, n_polls), until=until)
            result, reply = self.calls.ask_object("GET", operation, until=until)
            n_polls += 1
        return self._transcript(result)

    def _operation(self, accepted: Reply) -> httpx.URL:
        """Return the URL of the result, if the key may be sent there."""
        written = accepted.headers.get("operation-location", "")
        if not written:
            raise RequestError(Trouble.INVALID, "did not say where the result will be")
        try:
            operation = httpx.URL(written)
        except (httpx.InvalidURL, ValueError):
            operation = httpx.URL("")
        ours = self.calls.address
        if (operation.scheme, operation.host, operation.port) != (ours.scheme, ours.host, ours.port):
            elsewhere = self.calls.for_message(f"{operation.scheme}://{operation.netloc.decode('ascii', 'replace')}")
            raise ProviderError(
                f"{self.calls.place} wants the key to be sent to {elsewhere}",
                hint="set ocr.azure.endpoint to the resource itself",
            )
        return operation.copy_with(username=None, password=None)

    def _seconds_before(self, reply: Reply, n_polls: int) -> float:
        requested = self.calls.patience.seconds_asked_for(reply.headers, None)
        usual = min(_FIRST_POLL_SECONDS + n_polls / 2, _LONGEST_POLL_SECONDS)
        return usual if requested is None else min(max(requested, _SHORTEST_POLL_SECONDS), _LONGEST_POLL_SECONDS)

    def _transcript(self, answer: dict[str, Any]) -> Transcript:
        status = text_in(answer, "status")
        if status == "succeeded":
            result = object_in(answer, "analyzeResult")
            if not isinstance(result.get("pages"), list):
                raise RequestError(Trouble.INVALID, "answered without the pages that it has read")
            return Transcript(lines_of(result))
        if status not in _FINISHED:
            raise RequestError(Trouble.INVALID, "answered something that is not what Document Intelligence answers")
        error = object_in(answer, "error")
        inner = object_in(error, "innererror")
        message = self.calls.for_message(text_in(inner, "message") or text_in(error, "message") or status)
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
