from __future__ import annotations

import json
import os
import traceback
from pathlib import Path

import pytest

from directory_indexer.config import LoadedConfig, config_location, load_config
from directory_indexer.config.settings import (
    KEYS,
    Setting,
    Source,
    commented_example,
    plain_example,
    with_absolute_paths,
    write_example,
)
from directory_indexer.core.errors import ConfigError, UsageError

REPOSITORY = Path(__file__).parents[2]
SECRET = "sk-very-secret"  # noqa: S105 - must not be found anywhere
needs_posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def load(home: Path, *, file: Path | None = None, data_dir: Path | None = None, **environ: str) -> LoadedConfig:
    return load_config(file=file, data_dir=data_dir, environ={"HOME": str(home), "USERPROFILE": str(home), **environ})


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    path.chmod(0o600)
    return path


def setting(loaded: LoadedConfig, key: str) -> Setting[object]:
    return next(setting for setting in loaded.settings if setting.key == key)


def mistakes(home: Path, **given: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(home, **given)  # type: ignore[arg-type]
    return caught.value.message.splitlines()[1:]


def test_without_any_configuration_everything_lies_in_the_home_directory(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert loaded.data_dir == tmp_path / ".directory-indexer"
    assert loaded.config.storage.sqlite_path == loaded.data_dir / "data.db"
    assert loaded.config.storage.qdrant.path == loaded.data_dir / "qdrant"
    assert loaded.config.embedding.model == "all-MiniLM-L6-v2"
    assert loaded.file is None
    assert {setting.source for setting in loaded.settings} == {Source.DEFAULT}
    assert not loaded.warnings


def test_the_defaults_follow_the_data_directory_and_the_option_wins(tmp_path: Path) -> None:
    by_variable = load(tmp_path, DIRINDEX_DATA_DIR="~/other")
    by_option = load(tmp_path, data_dir=tmp_path / "third", DIRINDEX_DATA_DIR="~/other")
    assert by_variable.config.storage.sqlite_path == tmp_path / "other" / "data.db"
    assert by_option.config.storage.sqlite_path == tmp_path / "third" / "data.db"
    assert setting(by_option, "data_dir").where == "option --data-dir"


def test_the_file_lies_in_the_data_directory_unless_named(tmp_path: Path) -> None:
    write(tmp_path / ".directory-indexer" / "config.json", {"indexing": {"chunk_size": 100}})
    named = write(tmp_path / "named.json", {"indexing": {"chunk_size": 200}})
    optional = write(tmp_path / "optional.json", {"indexing": {"chunk_size": 300}})
    assert load(tmp_path).config.indexing.chunk_size == 100
    assert load(tmp_path, DIRINDEX_CONFIG=str(named)).config.indexing.chunk_size == 200
    loaded = load(tmp_path, file=optional, DIRINDEX_CONFIG=str(named))
    assert loaded.config.indexing.chunk_size == 300
    assert loaded.file == optional


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.json' does not exist \(environment DIRINDEX_CONFIG\)"):
        load(tmp_path, DIRINDEX_CONFIG=str(tmp_path / "nowhere.json"))


def test_the_environment_is_stronger_than_the_file_and_each_origin_is_kept(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", {"indexing": {"chunk_size": 100, "overlap": 10}})
    loaded = load(tmp_path, file=file, DIRINDEX_INDEXING__OVERLAP="20")
    assert (loaded.config.indexing.chunk_size, loaded.config.indexing.overlap) == (100, 20)
    assert setting(loaded, "indexing.chunk_size").where == f"file {file}"
    assert setting(loaded, "indexing.overlap").where == "environment DIRINDEX_INDEXING__OVERLAP"
    assert setting(loaded, "indexing.concurrency").where == "default"


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ('["*.tmp"]', ("*.tmp",)),
        (' [ "a,b", "c d" ] ', ("a,b", "c d")),
        ("[]", ()),
        ("[ab]*.tmp, [!c].log", ("[ab]*.tmp", "[!c].log")),
        ("[]x]", ("[]x]",)),
    ],
)
def test_a_list_in_a_variable_is_json_or_separated_by_commas(
    tmp_path: Path, text: str, patterns: tuple[str, ...]
) -> None:
    loaded = load(tmp_path, DIRINDEX_INDEXING__IGNORE_PATTERNS=text)
    assert loaded.config.indexing.ignore_patterns == patterns


@pytest.mark.parametrize("text", ['["*.tmp"', '["a", 3]', '[{"a": 1}]'])
def test_a_list_in_a_variable_that_is_wrong_is_a_mistake(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="ignore_patterns"):
        load(tmp_path, DIRINDEX_INDEXING__IGNORE_PATTERNS=text)


def test_a_list_of_objects_in_a_variable_is_json(tmp_path: Path) -> None:
    extractors = '[{"kind": "x", "suffixes": ["x"], "command": ["cat", "{file}"]}]'
    (extractor,) = load(tmp_path, DIRINDEX_INDEXING__EXTRACTORS=extractors).config.indexing.extractors
    assert extractor.command == ("cat", "{file}")


def test_variables_are_read_as_the_type_of_their_key(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        DIRINDEX_INDEXING__FOLLOW_SYMLINKS="Yes",
        DIRINDEX_INDEXING__IGNORE_PATTERNS="*.log, build/",
        DIRINDEX_EMBEDDING__PROVIDER="openai",
        DIRINDEX_EMBEDDING__DIMENSIONS="512",
        DIRINDEX_EMBEDDING__QUERY_PREFIX="query: ",
        DIRINDEX_STORAGE__QDRANT__PATH="~/vectors",
    )
    assert loaded.config.indexing.follow_symlinks is True
    assert loaded.config.indexing.ignore_patterns == ("*.log", "build/")
    assert loaded.config.embedding.dimensions == 512
    assert loaded.config.embedding.query_prefix == "query: "
    assert loaded.config.storage.qdrant.path == tmp_path / "vectors"


def test_an_empty_variable_counts_as_not_set_and_null_as_the_default(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", {"storage": {"qdrant": {"endpoint": "http://q:6333"}, "sqlite_path": "a.db"}})
    empty = load(tmp_path, file=file, DIRINDEX_STORAGE__QDRANT__ENDPOINT="")
    null = load(tmp_path, file=file, DIRINDEX_STORAGE__QDRANT__ENDPOINT="null", DIRINDEX_STORAGE__SQLITE_PATH="null")
    assert empty.config.storage.qdrant.endpoint == "http://q:6333"
    assert null.config.storage.qdrant.endpoint is None
    assert null.config.storage.sqlite_path == null.data_dir / "data.db"


def test_paths_in_the_file_are_relative_to_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "etc" / "c.json", {"storage": {"sqlite_path": "index.db", "qdrant": {"path": "~/q"}}})
    storage = load(tmp_path, file=file).config.storage
    assert storage.sqlite_path == tmp_path / "etc" / "index.db"
    assert storage.qdrant.path == tmp_path / "q"


def test_directories_that_clients_may_have_indexed_are_paths_of_the_file_that_names_them(tmp_path: Path) -> None:
    file = write(tmp_path / "etc" / "c.json", {"serving": {"directories": ["docs", "~/notes"]}})
    assert load(tmp_path, file=file).config.serving.directories == (tmp_path / "etc" / "docs", tmp_path / "notes")
    wrong = write(tmp_path / "etc" / "c.json", {"serving": {"directories": ["docs", 3, ""]}})
    assert [told.strip().split(",")[0] for told in mistakes(tmp_path, file=wrong)] == [
        "serving.directories.1: must be a path",
        "serving.directories.2: must be a path",
    ]


def test_without_a_home_directory_a_data_directory_must_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_home() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(ConfigError, match="no home directory"):
        load_config(file=None, data_dir=None, environ={})
    assert load_config(file=None, data_dir=tmp_path, environ={}).data_dir == tmp_path


@needs_posix
def test_a_home_directory_that_is_not_valid_unicode_works(tmp_path: Path) -> None:
    loaded = load(tmp_path / "caf\udce9")
    assert loaded.config.storage.sqlite_path == tmp_path / "caf\udce9" / ".directory-indexer" / "data.db"


@pytest.mark.parametrize(
    ("provider", "model", "endpoint"),
    [
        ("ollama", "nomic-embed-text", "http://localhost:11434"),
        ("openai", "text-embedding-3-small", "https://api.openai.com/v1"),
    ],
)
def test_each_provider_has_its_usual_model_and_endpoint(
    tmp_path: Path, provider: str, model: str, endpoint: str
) -> None:
    embedding = load(tmp_path, DIRINDEX_EMBEDDING__PROVIDER=provider).config.embedding
    assert (embedding.model, embedding.endpoint) == (model, endpoint)


@pytest.mark.parametrize(
    ("text", "wanted"), [("true", True), ("off", False), ("500", 500), ("2025-01-31", "2025-01-31")]
)
def test_the_amount_of_history_is_a_flag_a_number_or_a_day(tmp_path: Path, text: str, wanted: object) -> None:
    assert load(tmp_path, DIRINDEX_INDEXING__GIT_HISTORY=text).config.indexing.git_history == wanted


def test_all_mistakes_of_all_places_are_told_at_once(tmp_path: Path) -> None:
    file = write(
        tmp_path / "c.json",
        {
            "indexing": {"chunk_sise": 1, "overlap": 900, "max_file_size": "10", "ignore_patterns": ["a", 3]},
            "embedding": {"provider": "olama"},
            "monitoring": 7,
            "model": "x",
        },
    )
    told = mistakes(tmp_path, file=file, DIRINDEX_INDEXING__FOLLOW_SYMLINKS="ja", DIRINDEX_EMBEDDING_MODEL="x")
    told = [line.replace(str(file), "FILE").replace("DIRINDEX_EMBEDDING_MODEL", "VARIABLE").strip() for line in told]
    assert sorted(told) == [
        "embedding.provider: must be 'embedded', 'ollama' or 'openai', not \"olama\" (file FILE)",
        "embedding_model: there is no such key; did you mean 'DIRINDEX_EMBEDDING__MODEL'? (environment VARIABLE)",
        "indexing.chunk_sise: there is no such key; did you mean 'indexing.chunk_size'? (file FILE)",
        'indexing.follow_symlinks: must be true or false, not "ja" (environment DIRINDEX_INDEXING__FOLLOW_SYMLINKS)',
        "indexing.ignore_patterns.1: must be text, not 3 (file FILE)",
        'indexing.max_file_size: must be a whole number, not "10" (file FILE)',
        "indexing.overlap: must be smaller than chunk_size (256), not 900 (file FILE)",
        "model: there is no such key; did you mean 'embedding.model'? (file FILE)",
        "monitoring: must be an object that holds keys (file FILE)",
    ]


@pytest.mark.parametrize(
    ("section", "content"),
    [
        ("indexing", {"chunk_size": True}),
        ("indexing", {"chunk_size": 256.5}),
        ("indexing", {"chunk_size": None}),
        ("indexing", {"chunk_size": 1}),
        ("indexing", {"overlap": -1}),
        ("indexing", {"concurrency": 0}),
        ("indexing", {"respect_gitignore": 1}),
        ("indexing", {"ignore_patterns": "*.log"}),
        ("indexing", {"git_history": 0}),
        ("indexing", {"git_history": "yesterday"}),
        ("monitoring", {"batch_size": 0}),
        ("embedding", {"model": ""}),
        ("embedding", {"model": "all-MiniLM-L12"}),
        ("embedding", {"dimensions": 0}),
        ("embedding", {"endpoint": "localhost:11434"}),
        ("embedding", {"api_key": ""}),
        ("storage", {"sqlite_path": 3}),
        ("storage", {"sqlite_path": ""}),
        ("storage", {"qdrant": {"collection": "a/b"}}),
        ("storage", {"qdrant": {"endpoint": "file:///etc"}}),
        ("storage", {"qdrant": []}),
    ],
)
def test_an_impossible_value_is_one_mistake_with_its_key(
    tmp_path: Path, section: str, content: dict[str, object]
) -> None:
    file = write(tmp_path / "c.json", {section: content})
    (told,) = mistakes(tmp_path, file=file)
    assert told.strip().startswith(f"{section}.{next(iter(content))}")


@pytest.mark.parametrize("key", ["apikey", "api_keys", "embeding"])
def test_the_value_of_an_unknown_key_is_not_told_for_it_may_be_a_secret(tmp_path: Path, key: str) -> None:
    told = mistakes(tmp_path, file=write(tmp_path / "c.json", {"embedding": {key: SECRET}}))
    assert told
    assert SECRET not in str(told)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"indexing": {"overlap" 3}}', "line 1, column 25: "),
        (f'{{\n  // comment\n  "embedding": {{"api_key": "{SECRET}}}\n}}', "line 3, column 44: "),
        ('{"embedding": ', "line 1, column 15: "),
        ("[1]", "must hold one JSON object"),
    ],
)
def test_a_broken_file_is_told_with_line_and_column_and_without_its_text(
    tmp_path: Path, content: str, place: str
) -> None:
    file = write(tmp_path / "c.json", content)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, file=file)
    assert caught.value.message.startswith(f"'{file}': {place}")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_a_file_that_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_bytes(b"{\xff}")
    with pytest.raises(ConfigError, match="byte 1: not UTF-8"):
        load(tmp_path, file=tmp_path / "c.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path, file=tmp_path)


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", "\ufeff{}")
    assert load(tmp_path, file=file).file == file


def test_the_key_of_a_service_is_shown_nowhere(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", {"storage": {"qdrant": {"endpoint": "http://q", "api_key": SECRET}}})
    loaded = load(tmp_path, file=file, DIRINDEX_EMBEDDING__PROVIDER="openai", DIRINDEX_EMBEDDING__API_KEY=SECRET)
    key = loaded.config.embedding.api_key
    assert key is not None
    assert key.get_secret_value() == SECRET
    assert setting(loaded, "embedding.api_key").value == "**********"
    assert SECRET not in repr(loaded) + str(loaded.config) + repr(loaded.warnings)


def test_no_mistake_shows_the_key_of_a_service_or_the_password_in_a_url(tmp_path: Path) -> None:
    file = write(
        tmp_path / "c.json",
        {
            "embedding": {"api_key": [SECRET], "provider": "x", "endpoint": f"http://me:{SECRET}@host"},
            "storage": {"qdrant": {"api_key": SECRET, "endpoint": f"me:{SECRET}@host"}},
        },
    )
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, file=file)
    assert "embedding.api_key" in caught.value.message
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_a_key_can_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    key_file = write(tmp_path / "key", f"{SECRET}\n")
    file = write(tmp_path / "c.json", {"embedding": {"provider": "openai", "api_key_file": "key"}})
    loaded = load(tmp_path, file=file)
    key = loaded.config.embedding.api_key
    assert key is not None
    assert key.get_secret_value() == SECRET
    assert setting(loaded, "embedding.api_key").where == f"file {key_file}"
    assert not loaded.warnings


def test_a_key_in_the_environment_is_stronger_than_a_key_file_named_in_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", {"embedding": {"provider": "openai", "api_key_file": "missing"}})
    key = load(tmp_path, file=file, DIRINDEX_EMBEDDING__API_KEY=SECRET).config.embedding.api_key
    assert key is not None
    assert key.get_secret_value() == SECRET


def test_a_key_file_named_in_the_environment_is_stronger_than_a_key_in_the_file(tmp_path: Path) -> None:
    write(tmp_path / "key", SECRET)
    file = write(tmp_path / "c.json", {"embedding": {"provider": "openai", "api_key": "other"}})
    key = load(tmp_path, file=file, DIRINDEX_EMBEDDING__API_KEY_FILE="~/key").config.embedding.api_key
    assert key is not None
    assert key.get_secret_value() == SECRET


def test_a_key_file_that_is_missing_empty_or_beside_a_key_is_a_mistake(tmp_path: Path) -> None:
    write(tmp_path / "empty", " \n")
    missing = {"api_key_file": "missing"}
    empty = {"api_key_file": "empty"}
    both = {"api_key_file": "empty", "api_key": SECRET}
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + SECRET.encode())
    binary = {"api_key_file": "binary"}
    told = [
        mistakes(tmp_path, file=write(tmp_path / "c.json", {"embedding": {"provider": "openai", **keys}}))
        for keys in (missing, empty, both, binary)
    ]
    assert "cannot be read: No such file" in told[0][0]
    assert "embedding.api_key: must not be empty" in told[1][0]
    assert "give either this or embedding.api_key, not both" in told[2][0]
    assert "binary' is not UTF-8" in told[3][0]


@pytest.mark.parametrize(("endpoint", "is_warned"), [("http://q:6333", True), ("http://localhost:6333", False)])
def test_a_key_that_travels_unencrypted_is_warned_about(tmp_path: Path, endpoint: str, is_warned: bool) -> None:  # noqa: FBT001
    loaded = load(tmp_path, DIRINDEX_STORAGE__QDRANT__ENDPOINT=endpoint, DIRINDEX_STORAGE__QDRANT__API_KEY=SECRET)
    assert any("unencrypted" in warning for warning in loaded.warnings) is is_warned


@needs_posix
def test_files_with_keys_that_others_can_read_are_warned_about(tmp_path: Path) -> None:
    key_file = write(tmp_path / "key", SECRET)
    file = write(
        tmp_path / "c.json",
        {
            "embedding": {"provider": "openai", "api_key_file": "key"},
            "storage": {"qdrant": {"endpoint": "https://q", "api_key": SECRET}},
        },
    )
    assert load(tmp_path, file=file).warnings == ()
    key_file.chmod(0o640)
    file.chmod(0o604)
    warnings = load(tmp_path, file=file).warnings
    assert [f"'{file}'" in warnings[0], f"'{key_file}'" in warnings[1]] == [True, True]


@needs_posix
def test_a_file_without_keys_may_be_read_by_others(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", {"embedding": {"api_key": None}})
    file.chmod(0o644)
    assert load(tmp_path, file=file).warnings == ()


def test_settings_without_effect_are_warned_about(tmp_path: Path) -> None:
    file = write(tmp_path / "c.json", {"storage": {"qdrant": {"api_key": SECRET}}})
    warnings = load(tmp_path, file=file, DIRINDEX_EMBEDDING__ENDPOINT="http://localhost:1").warnings
    assert [warning.split(" ")[0] for warning in warnings] == ["embedding.endpoint", "storage.qdrant.api_key"]


def test_variables_of_other_kinds_are_left_alone(tmp_path: Path) -> None:
    assert load(tmp_path, DIRINDEX_TEST_URL="x", DIRINDEX_LOG="debug", OTHER__KEY="1").settings


def test_the_example_shows_every_key_with_its_default(tmp_path: Path) -> None:
    lines = [line.strip() for line in commented_example().splitlines()]
    assert [
        key for key in KEYS if sum(line.startswith(f'// "{key.rpartition(".")[2]}": ') for line in lines) == 0
    ] == []
    uncommented = "\n".join(line.removeprefix("// ") if line.startswith('// "') else line for line in lines)
    from_file = load(tmp_path, file=write(tmp_path / "c.json", uncommented))
    assert from_file.config == load(tmp_path).config
    assert load(tmp_path, file=write(tmp_path / "d.json", commented_example())).config == load(tmp_path).config


def test_the_example_in_the_repository_is_plain_json_and_current(tmp_path: Path) -> None:
    file = REPOSITORY / "config.example.json"
    assert json.loads(file.read_text(encoding="utf-8")) == json.loads(json.dumps(plain_example()))
    assert load(tmp_path, file=file).config == load(tmp_path).config


def test_the_example_is_written_for_the_owner_alone_and_never_over_a_file(tmp_path: Path) -> None:
    path = config_location(file=None, data_dir=tmp_path / "new", environ={}).value
    write_example(path)
    assert path.read_text(encoding="utf-8") == commented_example()
    if os.name == "posix":
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="exists already"):
        write_example(path)
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("half", ["\\ud800", "a\\u0000b"])
@pytest.mark.parametrize(
    "key", ["storage.qdrant.path", "storage.sqlite_path", "embedding.api_key_file", "storage.qdrant.collection"]
)
def test_half_a_character_in_a_value_is_a_mistake(tmp_path: Path, key: str, half: str) -> None:
    *sections, name = key.split(".")
    value = f'"{name}": "{half}"'
    for section in reversed(sections):
        value = f'"{section}": {{{value}}}'
    file = tmp_path / "config.json"
    file.write_text(f"{{{value}}}")
    with pytest.raises(ConfigError, match="unpaired surrogate"):
        load_config(file=file, data_dir=tmp_path, environ={})


def test_another_process_is_told_the_same_by_variables_that_hold_no_path() -> None:
    environ = {"DIRINDEX_INDEXING__IGNORE_PATTERNS": ",", "DIRINDEX_ROOTS": "", "TMPDIR": "", "LANG": "C"}

    assert with_absolute_paths(environ) == environ


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "TMPDIR"])
def test_another_process_finds_certificates_and_temporary_files_at_the_same_place(variable: str) -> None:
    assert with_absolute_paths({variable: "here"}) == {variable: os.path.abspath("here")}
