"""A small HTTP client with connection reuse."""

from http.retry import backoff_delays, should_retry


class HttpClient:
    def __init__(self, base_url: str, timeout: float = 10.0) -> None:
        self.base_url, self.timeout = base_url, timeout
        self._pool = {}

    def get_json(self, path: str) -> dict:
        """Fetch a document and parse it."""
        response = self._request("GET", path)
        return response.json()

    def close(self) -> None:
        """Close all idle connections."""
        for connection in self._pool.values():
            connection.close()
