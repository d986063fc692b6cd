"""Lazy imports, so that a command loads only what it uses.

    with lazily:
        import numpy as np
        from directory_indexer.embedding.loading import build_embedder

Each name of a block is a proxy: calling it or reading an attribute imports the real object. All else is
rejected: here, or for `except`, which no object can reject, by `scripts/check_lazy_names`. For a value that is not
callable, name its module in the block: `client_table.CLIENTS`. Python 3.15 has a keyword for it (PEP 810).
"""

from __future__ import annotations

import builtins
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class _Lazy:
    """A proxy of a module, or of a callable in a module."""

    def __init__(self, module: str, name: str = "") -> None:
        self.__module, self.__name = module, name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self.__resolved(), attribute)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.__resolved()(*args, **keywords)

    def __refuse(self, *_: object) -> NoReturn:
        name = f"{self.__module}.{self.__name}".rstrip(".")
        raise TypeError(f"{name} is imported lazily: it can be called and asked for attributes, and nothing else")

    def __bool__(self) -> bool:
        return True  # like every callable and module

    # These would act on the proxy, not on the real object.
    for _method in (
        *("__eq__", "__ne__", "__hash__", "__len__", "__iter__", "__contains__", "__getitem__"),
        *("__str__", "__format__", "__index__", "__or__", "__ror__", "__enter__", "__exit__"),
        *("__mro_entries__", "__instancecheck__", "__subclasscheck__"),
    ):
        locals()[_method] = __refuse

    def __resolved(self) -> Any:
        # Most calls find the module complete, in a fraction of the time that the import system takes.
        module = sys.modules.get(self.__module)
        if module is None or getattr(module.__spec__, "_initializing", False):
            module = import_module(self.__module)
        if not self.__name:
            return module
        try:
            return getattr(module, self.__name)
        except AttributeError:
            return import_module(f"{self.__module}.{self.__name}")


class _Names:
    """The proxy module of `from module import …`."""

    def __init__(self, module: str) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> _Lazy:
        if name.startswith("__"):  # read by the import system of every module
            raise AttributeError(name)
        return _Lazy(self.__module, name)


class _Lazily:
    """Makes every import of one module's block lazy; those of other threads are not affected."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()
        self._real_import = builtins.__import__
        block = sys._getframe(1).f_globals  # noqa: SLF001 - the only way to the caller's globals

        def lazy_import(
            name: str,
            globals: Mapping[str, object] | None = None,  # noqa: A002 - Python's signature
            locals: Mapping[str, object] | None = None,  # noqa: A002
            fromlist: Sequence[str] | None = (),
            level: int = 0,
        ) -> Any:
            if globals is not block:
                return self._real_import(name, globals, locals, fromlist or (), level)
            if fromlist:
                return _Names(name)
            if "." in name:
                raise ImportError(f"write `from … import …` for {name} in a lazy block")
            return _Lazy(name)

        builtins.__import__ = lazy_import

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._real_import
        self._lock.release()


lazily: Final = _Lazily()
