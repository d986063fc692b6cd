"""A process in an unpacked image as a cluster runs it: another user, a root nobody writes to, no capability at all.

Runtimes for containers want control groups and overlays, which a container does not give to another one; name spaces
and mounts are enough for what an image has to put up with.
"""

from __future__ import annotations

import http.client
import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

_PATIENCE_SECONDS = 120
_PAUSE_SECONDS = 0.02
_SIGTERM_CODE = 128 + signal.SIGTERM
_MOUNTS = """set -e
mount --make-rprivate /
mount --bind {root} {root}
mount -o remount,ro,bind {root}
mount -t proc proc {root}/proc
mount -t tmpfs -o mode=755 tmpfs {root}/dev
for device in null zero random urandom; do
    touch {root}/dev/$device
    mount --bind /dev/$device {root}/dev/$device
done
mkdir {root}/dev/shm
mount -t tmpfs -o mode=1777 tmpfs {root}/dev/shm
mount -t tmpfs -o mode=1777,size=1g tmpfs {root}/tmp
mount -t tmpfs tmpfs {root}/run
mkdir -p {root}/run/secrets/dirindex
mount --bind -o ro {place}/secret {root}/run/secrets/dirindex
mount --bind {place}/data {root}/data
exec env -i {environ} chroot {root} \
    setpriv --reuid={uid} --regid=0 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- {command}
"""


class Container:
    """One process; the volume of data and the token lie in `place`, and belong to root and its group."""

    def __init__(self, bundle: Path, place: Path, uid: int) -> None:
        for name, mode in (("data", 0o2770), ("secret", 0o755)):
            (place / name).mkdir(exist_ok=True)
            (place / name).chmod(mode)
        token = place / "secret/token"
        if not token.exists():
            token.write_text(secrets.token_urlsafe(32), encoding="ascii")
            token.chmod(0o440)
        self._token = token.read_text(encoding="ascii")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._uid = uid
        self._began = time.monotonic()
        process = json.loads((bundle / "config.json").read_text(encoding="utf-8"))["process"]
        # Beside the network of this machine it listens where nobody else does, and cannot be reached from elsewhere.
        command = [argument.replace("0.0.0.0:8765", f"127.0.0.1:{self._port}") for argument in process["args"]]
        script = _MOUNTS.format(
            root=bundle / "rootfs",
            place=place,
            uid=uid,
            environ=shlex.join(process["env"]),
            command=shlex.join(command),
        )
        apart = ("unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
        self._log = (place / f"log-{uid}").open("wb")
        self._process = subprocess.Popen((*apart, "sh", "-c", script), stderr=self._log)  # noqa: S603 - as above
        self.exit_code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.kill(self._inner(), signal.SIGTERM)
        self.exit_code = self._process.wait(_PATIENCE_SECONDS)
        self._log.close()
        if self.exit_code != _SIGTERM_CODE:
            sys.exit(f"it ended with {self.exit_code} when it was told to end")

    def seconds_until(self, path: str) -> float:
        """Wait until a path is answered with 200; tell how long after the start that was."""
        while self._status(path) != http.client.OK:
            if self._process.poll() is not None or time.monotonic() - self._began > _PATIENCE_SECONDS:
                sys.exit(f"no answer: {Path(self._log.name).read_text(encoding='utf-8')}")
            time.sleep(_PAUSE_SECONDS)
        return time.monotonic() - self._began

    def ingest(self, text: str) -> None:
        """Send a document, and wait until it has its vectors."""
        self._request("/api/v1/ingest", {"text": text, "wait": "complete", "wait_seconds": 20})

    def seconds_until_found(self, query: str, text: str) -> float:
        """Search for a text; tell how long after the start the answer was there."""
        answer = self._request("/api/v1/search", {"query": query, "mode": "semantic"})
        if not answer["hits"] or text not in json.dumps(answer["hits"][0]):
            sys.exit(f"'{text}' was not found first: {answer}")
        return time.monotonic() - self._began

    def require_nothing_writable(self) -> None:
        """Try to write outside of the volumes, from within."""
        inside = ("nsenter", "--target", str(self._inner()), "--mount", "--pid", "--root", "--wdns=/")
        user = ("--setuid", str(self._uid), "--setgid", "0")
        for place in ("/x", "/opt/dirindex/x", "/run/secrets/dirindex/x"):
            done = subprocess.run((*inside, *user, "touch", place), check=False, capture_output=True)  # noqa: S603
            if b"Read-only file system" not in done.stderr:
                sys.exit(f"{place} could be written: {done.stderr.decode()}")

    def _inner(self) -> int:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return int(children.read_text(encoding="ascii").split()[0])

    def _status(self, path: str) -> int:
        try:
            self._request(path)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0
        return http.client.OK

    def _request(self, path: str, body: dict[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{path}", content, headers)
        with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS) as answer:  # noqa: S310 - ours
            return json.loads(answer.read())
