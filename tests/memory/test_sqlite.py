"""Hold what the SQLite store must do with its file: schema, work by index, and every fault that a disk can have."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from promptkit import MemoryStoreError, SystemMessage, UserMessage
from promptkit.contracts import StoredMessage
from promptkit.memory import sqlite
from promptkit.memory.sqlite import SQLiteChatMemoryRepository
from tests.memory.servers import NOBODY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file that is not there yet."""
    return tmp_path / "chats.db"


def users(*texts: object) -> list[UserMessage]:
    return [UserMessage(str(text)) for text in texts]


def filled(path: Path, length: int = 3) -> Path:
    with SQLiteChatMemoryRepository(path) as repository:
        repository.append("c1", users(*range(length)))
    return path


def contents(path: Path) -> list[object]:
    with SQLiteChatMemoryRepository(path) as repository:
        return [stored.message.content for stored in repository.read("c1")]


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def steps(path: Path, call: Any) -> int:
    """Count the steps of SQLite's machine that a call takes."""
    with SQLiteChatMemoryRepository(path) as repository:
        call(repository)  # opens
        taken = 0

        def tick() -> None:
            nonlocal taken
            taken += 1

        repository._idle[0].set_progress_handler(tick, 1)
        call(repository)
        return taken


def test_the_work_of_a_call_does_not_depend_on_the_length(tmp_path: Path) -> None:
    short, long = tmp_path / "short.db", tmp_path / "long.db"
    for file, length in ((short, 100), (long, 20_000)):
        with SQLiteChatMemoryRepository(file) as repository:
            repository.append("c1", [SystemMessage("s"), *users(*range(length))])
    calls = {
        "last": lambda repository: repository.last("c1", 20),
        "last with system": lambda repository: repository.last("c1", 20, system=1),
        "read": lambda repository: list(repository.read("c1", after=50, limit=20)),
        "count": lambda repository: repository.count("c1"),
        "append": lambda repository: repository.append("c1", users("x")),
        "append with id": lambda repository: repository.append("c1", UserMessage("x", id="m1")),
    }

    assert {label: steps(short, call) for label, call in calls.items()} == {
        label: steps(long, call) for label, call in calls.items()
    }


def test_an_append_is_four_statements(path: Path) -> None:
    filled(path)
    statements: list[str] = []
    with SQLiteChatMemoryRepository(path) as repository:
        repository.count("c1")
        repository._idle[0].set_trace_callback(statements.append)
        repository.append("c1", UserMessage("x", id="m1"))

    assert [statement.split()[0] for statement in statements] == ["BEGIN", "SELECT", "INSERT", "COMMIT"]


@pytest.mark.parametrize(("durable", "synchronous"), [(False, 1), (True, 2)])
def test_the_file_is_written_ahead(path: Path, durable: bool, synchronous: int) -> None:
    with SQLiteChatMemoryRepository(path, durable=durable) as repository:
        repository.append("c1", users("x"))
        (connection,) = repository._idle
        pragmas = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]

    assert pragmas == ["wal", synchronous]


def test_one_connection_serves_one_caller(path: Path) -> None:
    with SQLiteChatMemoryRepository(path) as repository:
        for number in range(20):
            repository.append("c1", users(number))
        assert len(repository._idle) == 1


def test_the_rows_can_be_read_by_people(path: Path) -> None:
    with SQLiteChatMemoryRepository(path) as repository:
        repository.append("Zoë", UserMessage("xin chào", id="m1"))
    with closing(sqlite3.connect(path)) as connection:
        row = connection.execute(
            "SELECT name, sequence, role, message_id, json_extract(body, '$.content')"
            " FROM conversations JOIN messages ON conversation = id WHERE name = 'Zoë'"
        ).fetchone()

    assert row == ("Zoë", 1, "user", "m1", "xin chào")


@pytest.mark.parametrize("name", ["", ":memory:"])
def test_a_path_that_is_no_file_is_refused(name: str) -> None:
    with pytest.raises(MemoryStoreError, match="is no file; use InMemoryChatMemoryRepository"):
        SQLiteChatMemoryRepository(name)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda folder: folder, "unable to open database file; check that its folder exists"),
        (lambda folder: folder / "absent" / "chats.db", "unable to open database file; check that its folder exists"),
        (lambda folder: str(folder / "a\x00b"), "cannot be the path of an SQLite store"),
    ],
    ids=["folder", "absent folder", "NUL"],
)
def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path, make: Any, match: str) -> None:
    repository = SQLiteChatMemoryRepository(make(tmp_path))
    with pytest.raises(MemoryStoreError, match=match) as caught:
        repository.append("c1", users("x"))
    assert str(make(tmp_path)).replace("\x00", "\\x00") in str(caught.value)


def test_a_path_that_means_something_to_sqlite_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("file:x?mode=memory", "a'b", "a%20b", "é\n"):
        assert contents(filled(Path(name))) == ["0", "1", "2"]
        assert (tmp_path / name).exists()


def test_a_schema_from_the_future_is_refused_untouched(path: Path) -> None:
    filled(path)
    change(path, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 7")
    before = path.read_bytes()
    with SQLiteChatMemoryRepository(path) as repository:
        for call in (lambda: repository.append("c1", users("x")), lambda: repository.count("c1")):
            with pytest.raises(MemoryStoreError, match="schema version 7, and this promptkit knows versions up to 1"):
                call()

    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "script",
    ["CREATE TABLE mine (x)", "PRAGMA user_version = 3", "PRAGMA application_id = 99", "CREATE TABLE messages (x)"],
)
def test_the_file_of_another_program_is_refused_untouched(path: Path, script: str) -> None:
    change(path, script)
    before = path.read_bytes()
    with pytest.raises(MemoryStoreError, match="another program's SQLite database; it was not touched"):
        contents(path)

    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused_untouched(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1_000)
    with pytest.raises(MemoryStoreError, match="file is not a database"):
        filled(path)

    assert path.read_bytes() == b"Dear diary, " * 1_000


def test_an_older_schema_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    monkeypatch.setattr(sqlite, "_MIGRATIONS", (*sqlite._MIGRATIONS, "ALTER TABLE messages ADD COLUMN mark TEXT"))

    assert contents(filled(path)) == ["0", "1", "2"] * 2
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
        assert connection.execute("SELECT count(*) FROM messages WHERE mark IS NULL").fetchone() == (6,)


def test_a_migration_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(path)
    broken = "ALTER TABLE messages ADD COLUMN mark TEXT; UPDATE absent SET x = 1"
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "_MIGRATIONS", (*sqlite._MIGRATIONS, broken))
        with pytest.raises(MemoryStoreError, match="no such table: absent"):
            contents(path)

    assert contents(path) == ["0", "1", "2"]


def test_a_locked_file_is_an_error_after_the_timeout(path: Path) -> None:
    filled(path)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        SQLiteChatMemoryRepository(path, timeout=0.05) as repository,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MemoryStoreError, match="database is locked; another connection kept it locked") as caught:
            repository.append("c1", users("x"))
        assert caught.value.conversation_id == "c1"
        assert repository.count("c1") == 3
        other.execute("ROLLBACK")

        assert repository.append("c1", users("x")) == (4,)


def test_a_new_file_that_is_locked_is_an_error_after_the_timeout(path: Path) -> None:
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as other,
        SQLiteChatMemoryRepository(path, timeout=0.05) as repository,
    ):
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MemoryStoreError, match="database is locked"):
            repository.append("c1", users("x"))


def test_many_threads_may_make_the_file(path: Path) -> None:
    failures: list[BaseException] = []

    def write() -> None:
        try:
            with SQLiteChatMemoryRepository(path) as repository:
                repository.append("c1", users("x"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not failures
    assert contents(path) == ["x"] * 16


FULL = """
import resource, sys
from promptkit import MemoryStoreError, UserMessage
from promptkit.memory.sqlite import SQLiteChatMemoryRepository
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
with SQLiteChatMemoryRepository(sys.argv[1]) as repository:
    done = 0
    try:
        while True:
            repository.append("c1", [UserMessage(f"{done} " + "x" * 1_000), UserMessage(f"{done}")])
            done += 1
    except MemoryStoreError as error:
        failed = str(error)
    assert repository.count("c1") == 2 * done
    print(done, failed)
"""


def test_a_full_disk_is_an_error_and_loses_nothing(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True)
    number, _, failed = done.stdout.partition(" ")

    assert "nothing of this call was stored" in failed
    assert int(number) > 20
    assert [str(content).split()[0] for content in contents(path)] == [
        str(each) for each in range(int(number)) for _ in range(2)
    ]
    filled(path)


@contextmanager
def without_rights() -> Iterator[None]:
    """Be somebody whom permissions hold back, even when root runs the tests."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder that everybody can reach and nobody but root owns."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)
        Path(folder).chmod(0o777)


def test_a_read_only_file_can_be_read(open_folder: Path) -> None:
    path = filled(open_folder / "chats.db")
    path.chmod(0o444)
    with without_rights(), SQLiteChatMemoryRepository(path) as repository:
        assert repository.count("c1") == 3
        for call in (lambda: repository.append("c1", users("x")), lambda: repository.delete("c1")):
            with pytest.raises(MemoryStoreError, match="readonly database; the file, its folder or the disk"):
                call()
        assert repository.count("c1") == 3


def test_a_read_only_folder_is_an_error(open_folder: Path) -> None:
    path = filled(open_folder / "chats.db")
    path.chmod(0o444)
    open_folder.chmod(0o555)
    with (
        without_rights(),
        SQLiteChatMemoryRepository(path) as repository,
        pytest.raises(MemoryStoreError, match=r"the SQLite store '.*' failed"),
    ):
        repository.append("c1", users("x"))


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_an_error_or_without_effect(path: Path, seed: int) -> None:
    filled(path, 200)
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    size = 4_096
    page = chance.randrange(len(data) // size)
    if seed % 4 == 0:
        del data[page * size :]  # the file is cut
    elif seed % 4 == 1:
        data[page * size : (page + 1) * size] = bytes(size)
    elif seed % 4 == 2:
        data[page * size : (page + 1) * size] = chance.randbytes(size)
    else:
        data[page * size : page * size + 100] = chance.randbytes(100)
    path.write_bytes(data)
    expected = [str(number) for number in range(200)]

    with SQLiteChatMemoryRepository(path) as repository:
        reads: list[Callable[[], Iterable[StoredMessage]]] = [
            lambda: repository.read("c1"),
            lambda: repository.last("c1", 200),
        ]
        for read in reads:
            with suppress(MemoryStoreError):
                assert [stored.message.content for stored in read()] in (expected, [])
        with suppress(MemoryStoreError):
            repository.count("c1")
        with suppress(MemoryStoreError):
            repository.append("c2", users("x"))


@pytest.mark.parametrize(
    ("body", "match"),
    [
        ("{", "message 2 of the conversation 'c1' cannot be read: the stored text is not JSON"),
        ('{"promptkit": 99, "type": "user"}', "message 2 of the conversation 'c1' cannot be read: .*version 99"),
        ('{"promptkit": 1, "type": "prompt", "messages": []}', "message 2 .* cannot be read: it is a Prompt"),
        (
            '{"promptkit": 1, "type": "user", "content": 5}',
            "message 2 of the conversation 'c1' cannot be read: content",
        ),
    ],
    ids=["no JSON", "future", "no message", "damaged"],
)
def test_a_damaged_message_is_named_by_its_number(path: Path, body: str, match: str) -> None:
    filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE messages SET body = ? WHERE sequence = 2", (body,))
    with SQLiteChatMemoryRepository(path) as repository:
        with pytest.raises(MemoryStoreError, match=match) as caught:
            list(repository.read("c1"))
        assert caught.value.conversation_id == "c1"
        assert repository.last("c1", 1)[0].message == UserMessage("2")


def test_a_forked_child_has_connections_of_its_own(path: Path) -> None:
    with SQLiteChatMemoryRepository(path) as repository:
        repository.append("c1", users("parent 1"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                repository.append("c1", users("child"))
                repository.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        repository.append("c1", users("parent 2"))

        assert [stored.message.content for stored in repository.read("c1")] == ["parent 1", "child", "parent 2"]


def test_a_call_that_is_interrupted_leaves_the_store_usable(path: Path) -> None:
    def stop() -> int:
        return 1

    with SQLiteChatMemoryRepository(path) as repository:
        repository.append("c1", users("a"))
        repository._idle[0].set_progress_handler(stop, 1)
        with pytest.raises(MemoryStoreError, match="interrupted"):
            repository.append("c1", users("b"))

        assert repository.append("c1", users("c")) == (2,)
