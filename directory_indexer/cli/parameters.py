"""Commands as records: each field of a call is an option or an argument of the command line.

Typer is built from the same records (`command_line`). Importing it takes longer than a keyword search, so an ordinary
command line is parsed here; help, completion and errors are left to Typer, which explains them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, Literal, NamedTuple, Union, dataclass_transform, get_args, get_origin, get_type_hints


class Option(NamedTuple):
    """An option by its names; a flag that can be switched off has a name of the form `--wait/--no-wait`."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    complete: Callable[[], list[str]] | None = None
    minimum: int | None = None
    maximum: int | None = None
    is_hidden: bool = False
    shows_default: bool = True


class Argument(NamedTuple):
    """An argument; one of type `tuple[…, ...]` takes all remaining words."""

    help: str
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    complete: Callable[[], list[str]] | None = None
    shows_default: bool = True


class OptionTable(NamedTuple):
    """Options of one field, which maps each key to the values of its option."""

    options: Mapping[str, Option]


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Call:
    """The values of a command line: subclasses declare its parameters as fields, each with its default."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Command(NamedTuple):
    """A command: the record of its command line, and the function that runs it and whose docstring is its help."""

    call: type[Call]
    run: Callable[[Any], int | None]
    help: str | None = None


class Group(NamedTuple):
    """Commands below one name; `default` runs if none of them is named."""

    commands: Mapping[str, Command]
    help: str
    default: Command | None = None


class Parameter(NamedTuple):
    """A field of a call, with the type of one value."""

    field: str
    type: Any
    is_repeated: bool
    is_optional: bool
    is_required: bool
    default: Any
    spec: Option | Argument | OptionTable


def parameters_of(call: type[Call]) -> Iterator[Parameter]:
    """Yield the parameters of a call in order, those shared with other commands last."""
    hints = get_type_hints(call, include_extras=True)
    for field, hint in sorted(hints.items(), key=lambda item: item[0] not in call.__annotations__):
        annotated, spec = get_args(hint)
        types = get_args(annotated) if get_origin(annotated) in {Union, UnionType} else (annotated,)
        value_type = next(each for each in types if each is not NoneType)
        is_repeated = get_origin(value_type) is tuple
        yield Parameter(
            field,
            get_args(value_type)[0] if is_repeated else value_type,
            is_repeated,
            is_optional=NoneType in types,
            is_required=not hasattr(call, field),
            default=getattr(call, field, None),
            spec=spec,
        )


def parse_call(call: type[Call], words: Sequence[str]) -> Any:
    """Parse a command line; return None if Typer has to parse it.

    Raises:
        UsageError: the parser of a value rejects it.
    """
    try:
        return _CommandLine(call).parse(words)
    except _NeedsTyperError:
        return None


class _NeedsTyperError(Exception):
    """Only Typer can parse the command line, or explain its error."""


class _Target(NamedTuple):
    """The field that an option sets, or a key of it; `switch` is the value of a flag."""

    parameter: Parameter
    option: Option
    key: str = ""
    switch: bool | None = None


class _CommandLine:
    """A command line that is parsed word by word."""

    def __init__(self, call: type[Call]) -> None:
        self._call = call
        self._parameters = list(parameters_of(call))
        self._targets = {name: target for parameter in self._parameters for name, target in _targets(parameter)}
        self._values: dict[tuple[str, str], list[Any]] = {}
        self._arguments: list[str] = []

    def parse(self, words: Sequence[str]) -> Any:
        rest = iter(words)
        for word in rest:
            if word == _END_OF_OPTIONS:
                self._arguments += rest
            elif word.startswith("--"):
                name, equals, value = word.partition("=")
                self._add(self._target(name), value if equals else None, rest)
            elif word.startswith("-") and word != "-":
                self._parse_letters(word[1:], rest)
            else:
                self._arguments.append(word)
        return self._call(**dict(self._fields()))

    def _parse_letters(self, letters: str, rest: Iterator[str]) -> None:
        """Parse flags of one letter; the first option that is no flag takes the rest as its value."""
        for end, letter in enumerate(letters, 1):
            target = self._target(f"-{letter}")
            if target.switch is None:
                self._add(target, letters[end:] or None, rest)
                return
            self._add(target, None, rest)

    def _target(self, name: str) -> _Target:
        if name not in self._targets:
            raise _NeedsTyperError
        return self._targets[name]

    def _add(self, target: _Target, value: str | None, rest: Iterator[str]) -> None:
        if target.switch is None:
            value = next(rest, None) if value is None else value
        if (value is None) != (target.switch is not None):
            raise _NeedsTyperError
        values = self._values.setdefault((target.parameter.field, target.key), [])
        values.append(target.switch if value is None else value)

    def _fields(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields that the words set.

        Raises:
            _NeedsTyperError: an argument is missing, or there are too many.
        """
        for parameter in self._parameters:
            if isinstance(parameter.spec, OptionTable):
                keys = parameter.spec.options
                yield parameter.field, {key: self._values.get((parameter.field, key), []) for key in keys}
            elif values := self._values_of(parameter):
                yield parameter.field, _value(parameter, values)
            elif parameter.is_required:
                raise _NeedsTyperError
        if self._arguments:
            raise _NeedsTyperError

    def _values_of(self, parameter: Parameter) -> list[Any]:
        if isinstance(parameter.spec, Option):
            return self._values.get((parameter.field, ""), [])
        n_taken = len(self._arguments) if parameter.is_repeated else 1
        taken, self._arguments = self._arguments[:n_taken], self._arguments[n_taken:]
        return taken


def _targets(parameter: Parameter) -> Iterator[tuple[str, _Target]]:
    """Yield the target of each name of an option."""
    if isinstance(parameter.spec, OptionTable):
        for key, option in parameter.spec.options.items():
            yield from ((name, _Target(parameter, option, key)) for name in option.names)
    elif isinstance(parameter.spec, Option):
        for names in parameter.spec.names:
            name, _, negative = names.partition("/")
            yield name, _Target(parameter, parameter.spec, switch=True if parameter.type is bool else None)
            if negative:
                yield negative, _Target(parameter, parameter.spec, switch=False)


def _value(parameter: Parameter, values: Sequence[Any]) -> Any:
    if parameter.is_repeated:
        return tuple(_single_value(parameter, value) for value in values)
    return _single_value(parameter, values[-1])


def _single_value(parameter: Parameter, value: Any) -> Any:
    spec = parameter.spec
    if isinstance(spec, OptionTable) or not spec.parse:
        is_choice = get_origin(parameter.type) is Literal
        if is_choice and value not in get_args(parameter.type):
            raise _NeedsTyperError
        return _number(value, spec) if parameter.type is int and isinstance(spec, Option) else value
    return spec.parse(value)


def _number(text: str, option: Option) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise _NeedsTyperError
    minimum = option.minimum or 0
    maximum = option.maximum if option.maximum is not None else _MAX_NUMBER
    if not minimum <= int(text) <= maximum:
        raise _NeedsTyperError
    return int(text)


_END_OF_OPTIONS: Final = "--"
_MAX_DIGITS: Final = 10
_MAX_NUMBER: Final = 10**_MAX_DIGITS
