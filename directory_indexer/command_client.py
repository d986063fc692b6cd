"""Commands answered by a server of the same index on this machine, which has loaded what a command would have to load.

The answer is read completely before any of it is written, so a server that is killed leaves the command to this
process. Whatever is out of the ordinary is left to it as well: nobody listens, or another version or another user does.
`socket` and `signal` would double the time of an answered command, so neither is imported.
"""

import os
import sys

from directory_indexer import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket  # noqa: N812 - the class has a lower-case name
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TextIO, TypeVar

    Result = TypeVar("Result")

COMMANDS = frozenset(("search", "grep", "get", "similar", "outline", "status"))
"""The commands that only read, and end by themselves."""

NO_SERVER = "--no-server"
ACCEPTED, DECLINED = b"+", b"-"
LENGTH_BYTES = 4
MAX_REQUEST_BYTES = 256 << 10
FIELD_END = b"\0"
"""Neither an argument nor a variable can hold it."""

COMPARED_VARIABLES = ("HOME", "USERPROFILE", "TZ", "XDG_CONFIG_HOME")
_SENT_VARIABLES = (*COMPARED_VARIABLES, "TERM", "NO_COLOR", "COLUMNS")
_SENT_PREFIX = "DIRINDEX_"
COMPLETES = "_DIRINDEX_COMPLETE"
_REPLY_SECONDS = 0.03
_READ_BYTES = 1 << 16
_UNAVAILABLE = 3
_MAX_ADDRESS_BYTES = 103
"""Of a Unix socket; Linux takes 107, macOS 103."""


def answered(arguments: "Sequence[str]") -> int | None:
    """Return the exit code of a command that a server has answered; None where this process has to run it."""
    if not can_be_answered(arguments):
        return None
    try:
        answer = _answer(arguments)
        return None if answer is None else _written(answer)
    except (OSError, ValueError):
        return None
    except KeyboardInterrupt:
        _end_by_interrupt()
        return None


def can_be_answered(arguments: "Sequence[str]") -> bool:
    """Whether a server may answer this command."""
    is_known = bool(arguments) and arguments[0] in COMMANDS
    return is_known and NO_SERVER not in arguments and os.name == "posix" and COMPLETES not in os.environ


def data_directory(arguments: "Sequence[str]") -> str:
    """Return the data directory without reading the configuration, which may be broken."""
    directory = os.environ.get("DIRINDEX_DATA_DIR") or "~/.directory-indexer"
    for at, argument in enumerate(arguments):
        if argument == "--data-dir" and at + 1 < len(arguments):
            directory = arguments[at + 1]
        elif argument.startswith("--data-dir="):
            directory = argument.partition("=")[2]
    return os.path.expanduser(directory)


def socket_path(data_dir: str) -> str:
    """Return the socket of the server that answers commands of this user."""
    return os.path.join(data_dir, f"commands-{os.geteuid()}.socket")


def at_socket(path: str, use: "Callable[[str], Result]") -> "Result":
    """Call `connect` or `bind` with the path of a socket; Linux reaches one that is too long through its directory."""
    if len(os.fsencode(path)) <= _MAX_ADDRESS_BYTES or sys.platform != "linux":
        return use(path)
    directory, name = os.path.split(path)
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return use(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def version() -> bytes:
    """Return what client and server must have in common: the program, where it is, and how it reads names."""
    place = os.path.dirname(os.path.abspath(__file__))
    return os.fsencode(f"{__version__} {place} {sys.version_info[:3]} {sys.getfilesystemencoding()}")


def peer_uid(connection: "Socket") -> int:
    """Return the user at the other end of a Unix socket.

    Raises:
        OSError: the system does not tell.
    """
    if sys.platform == "linux":
        import _socket  # noqa: PLC0415 - not there on every system

        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[4:8], sys.byteorder)  # pid, uid, gid
    local, peer_credentials = 0, 1
    credentials = connection.getsockopt(local, peer_credentials, 76)
    return int.from_bytes(credentials[4:8], sys.byteorder)  # version, uid, groups


def _answer(arguments: "Sequence[str]") -> "list[tuple[int, bytes]] | None":
    """Return what is to be written to which descriptor, and last the exit code as that of descriptor 0."""
    import _socket  # noqa: PLC0415 - not there on every system

    if sys.stdout is None or sys.stderr is None or not hasattr(_socket, "AF_UNIX"):
        return None
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_REPLY_SECONDS)
        at_socket(socket_path(data_directory(arguments)), connection.connect)
        return _exchange(connection, arguments)
    finally:
        connection.close()


def _exchange(connection: "Socket", arguments: "Sequence[str]") -> "list[tuple[int, bytes]] | None":
    request = _request(arguments)
    if len(request) > MAX_REQUEST_BYTES or peer_uid(connection) != os.geteuid():
        return None
    connection.sendall(len(request).to_bytes(LENGTH_BYTES, "big") + request)
    if connection.recv(1) != ACCEPTED:
        return None
    connection.settimeout(None)
    content = bytearray()
    while read := connection.recv(_READ_BYTES):
        content += read
    return list(_parts(bytes(content)))


def _request(arguments: "Sequence[str]") -> bytes:
    here = os.stat(".")
    facts = (
        f"{os.getcwd()}\0{here.st_dev} {here.st_ino}",
        *(f"{stream.encoding} {int(stream.isatty())} {_columns(at)}" for at, stream in _outputs()),
    )
    variables = (f"{name}={value}" for name, value in os.environ.items() if is_sent(name))
    fields = (*facts, *variables, "", *arguments)
    return FIELD_END.join((version(), *map(os.fsencode, fields)))


def is_sent(variable: str) -> bool:
    """Whether a variable of the environment means something to a command."""
    return variable in _SENT_VARIABLES or variable.startswith((_SENT_PREFIX, "GIT_"))


def compared(environ: "Mapping[str, str]") -> dict[str, str]:
    """Return the variables that must be the same in a server, for it reads its own."""
    return {name: value for name, value in environ.items() if name in COMPARED_VARIABLES or name.startswith("GIT_")}


def _outputs() -> "Iterator[tuple[int, TextIO]]":
    yield from ((1, sys.stdout), (2, sys.stderr))


def _columns(descriptor: int) -> int:
    try:
        return os.get_terminal_size(descriptor).columns
    except OSError:
        return 0


def _parts(content: bytes) -> "Iterator[tuple[int, bytes]]":
    """Yield the parts of an answer.

    Raises:
        ValueError: it is not complete.
    """
    at, descriptor = 0, -1
    while descriptor:
        length = int.from_bytes(content[at + 1 : at + 1 + LENGTH_BYTES], "big")
        start = at + 1 + LENGTH_BYTES
        if start + length > len(content):
            raise ValueError("the answer is cut off")
        descriptor = content[at]
        yield descriptor, content[start : start + length]
        at = start + length


def _written(answer: "list[tuple[int, bytes]]") -> int | None:
    """Write an answer and return its exit code; None where nothing could be written, which this process explains."""
    *parts, (_, code) = answer
    n_written = 0
    try:
        for descriptor, content in parts:
            rest = memoryview(content)
            while rest:
                n_written += (n := _write(descriptor, rest))
                rest = rest[n:]
    except BrokenPipeError:
        return 0  # whoever reads our output has seen enough
    except OSError as error:
        if not n_written:
            return None
        os.write(2, f"dirindex: standard output cannot be written: {error.strerror}\n".encode())
        return _UNAVAILABLE
    return code[0]


def _write(descriptor: int, content: memoryview) -> int:
    try:
        return os.write(descriptor, content)
    except OSError:
        if descriptor == 1:
            raise
        return len(content)  # messages that nobody can read


def _end_by_interrupt() -> None:
    """End as a process that an interrupt ends, for a shell looks at how it ended."""
    import signal  # noqa: PLC0415 - takes milliseconds, and few commands are interrupted

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
