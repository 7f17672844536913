"""Keep conversations in an SQLite file: the embedded store, with nothing to install and nothing to run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from promptkit.contracts import StoredMessage
from promptkit.errors import MemoryStoreError
from promptkit.memory._repository import Answer, BaseRepository, Exchange, Page
from promptkit.memory._rows import PAGE_BYTES, PAGE_ROWS, Batch, id_bytes, id_text, stored_messages
from promptkit.messages import BuiltinMessage

if TYPE_CHECKING:
    from sqlite3 import Connection

__all__ = ["SQLiteChatMemoryRepository"]

_APPLICATION_ID = int.from_bytes(b"PKit")
"""Marks the file as ours, in its header."""

_MIGRATIONS = (
    """
    CREATE TABLE conversations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE messages (
        conversation INTEGER NOT NULL, sequence INTEGER NOT NULL,
        role TEXT NOT NULL, message_id TEXT, body TEXT NOT NULL,
        PRIMARY KEY (conversation, sequence)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX message_ids ON messages (conversation, message_id) WHERE message_id IS NOT NULL;
    CREATE INDEX system_messages ON messages (conversation, sequence) WHERE role = 'system';
    """,
)
"""The step to each schema version from the one before; the version of a file stands in its header."""

_SCHEMA = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version"
_END = """
    SELECT id, (SELECT max(sequence) FROM messages WHERE conversation = id) FROM conversations
    WHERE name = CAST(? AS TEXT)"""
_BEGIN = "INSERT INTO conversations (name) VALUES (CAST(? AS TEXT))"
_KNOWN = "SELECT sequence, body FROM messages WHERE conversation = ? AND message_id = CAST(? AS TEXT)"
_INSERT = """
    INSERT INTO messages (conversation, sequence, role, message_id, body) VALUES (?, ?, ?, CAST(? AS TEXT), ?)"""
_TAIL = """
    SELECT sequence, body FROM conversations JOIN messages ON conversation = id
    WHERE name = CAST(? AS TEXT) ORDER BY sequence DESC LIMIT ?"""
_SYSTEM = """
    SELECT sequence, body FROM conversations JOIN messages INDEXED BY system_messages ON conversation = id
    WHERE name = CAST(? AS TEXT) AND role = 'system' AND sequence < ? ORDER BY sequence DESC LIMIT ?"""
_READ = """
    SELECT sequence, body FROM conversations JOIN messages ON conversation = id
    WHERE name = CAST(? AS TEXT) AND sequence > ? ORDER BY sequence LIMIT ?"""
_NAMES = "SELECT CAST(name AS BLOB) FROM conversations WHERE name > CAST(? AS TEXT) ORDER BY name LIMIT ?"

_REMEDIES = {
    "SQLITE_BUSY": "another connection kept it locked; give a longer timeout",
    "SQLITE_CANTOPEN": "check that its folder exists and may be written",
    "SQLITE_CORRUPT": "the file is damaged; restore it from a copy",
    "SQLITE_FULL": "make room on the disk; nothing of this call was stored",
    "SQLITE_IOERR": "the disk may be full or broken; nothing of this call was stored",
    "SQLITE_NOTADB": "the file is no SQLite database",
    "SQLITE_READONLY": "the file, its folder or the disk may not be written",
    "SQLITE_TOOBIG": "the message is larger than SQLite's limit of 1 GB",
}
"""What to do, by the name of SQLite's error."""


class SQLiteChatMemoryRepository(BaseRepository):
    """Keep conversations in a file of its own, by the standard library.

    Threads and processes may share the file; it must lie on a local disk. It is written ahead (WAL): a killed process
    loses nothing that was acknowledged, and a power failure at most the last appends, unless ``durable`` is set.
    The async methods run in threads.

    Args:
        path: The file; it is made at the first use.
        durable: Whether each append waits until the disk has it, so that a power failure loses nothing either.
        timeout: Seconds to wait for another writer.

    >>> import tempfile
    >>> from promptkit import UserMessage
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SQLiteChatMemoryRepository(f"{folder}/chats.db") as repository:
    ...         numbers = repository.append("c1", [UserMessage("Hi"), UserMessage("Are you there?")])
    ...     with SQLiteChatMemoryRepository(f"{folder}/chats.db") as reopened:
    ...         print(numbers, reopened.last("c1", 1)[0].message.text)
    (1, 2) Are you there?
    """

    __slots__ = ("_durable", "_idle", "_lost", "_path", "_process", "_timeout")

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = False, timeout: float = 30.0) -> None:
        given = os.fsdecode(path)
        if given in {"", ":memory:"}:
            raise MemoryStoreError(f"{given!r} is no file; use InMemoryChatMemoryRepository")
        self._path = str(Path(given).absolute())  # SQLite may take a path that begins with "file:" for more than a name
        self._durable = durable
        self._timeout = timeout
        self._idle: list[Connection] = []
        self._lost: list[list[Connection]] = []
        self._process = os.getpid()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._path!r}, durable={self._durable}, timeout={self._timeout})"

    def _send(self, exchange: Exchange[Answer]) -> Any:
        connection = None
        try:
            connection = self._take()
            answer = exchange.ask(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()  # which ends a transaction, too
            self._raise_failure(error, exchange.conversation_id)
            raise
        self._idle.append(connection)
        return answer

    async def _asend(self, exchange: Exchange[Answer]) -> Any:
        import asyncio

        return await asyncio.to_thread(self._send, exchange)

    def _raise_failure(self, error: BaseException, conversation_id: str | None) -> None:
        """Say in our words what SQLite says; leave every other error as it is."""
        import sqlite3

        if not isinstance(error, sqlite3.Error):
            return
        name = getattr(error, "sqlite_errorname", "")
        remedy = next((f"; {remedy}" for start, remedy in _REMEDIES.items() if name.startswith(start)), "")
        raise MemoryStoreError(
            f"the SQLite store {self._path!r} failed: {error}{remedy}", conversation_id=conversation_id
        ) from error

    def _take(self) -> Connection:
        """Take a connection that nobody uses, or open one; those of a parent process are left alone for ever."""
        if self._process != os.getpid():
            self._lost.append(self._idle)
            self._idle = []
            self._process = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _open(self) -> Connection:
        import sqlite3

        try:
            connection = sqlite3.connect(
                self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
        except (ValueError, TypeError) as error:
            raise MemoryStoreError(f"{self._path!r:.200} cannot be the path of an SQLite store: {error}") from error
        try:
            if self._version(connection) < len(_MIGRATIONS):
                self._migrate(connection)
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _version(self, connection: Connection) -> int:
        """Read the version of the schema, 0 for an empty file, and refuse a file that is not ours or from the future."""
        application_id, version, tables = connection.execute(_SCHEMA).fetchone()
        if application_id == _APPLICATION_ID and version <= len(_MIGRATIONS):
            return int(version)
        if application_id == _APPLICATION_ID:
            raise MemoryStoreError(
                f"the SQLite store {self._path!r} has schema version {version}, and this promptkit knows versions up to "
                f"{len(_MIGRATIONS)}; it was not touched. Use a newer promptkit"
            )
        if (application_id, version, tables) != (0, 0, 0):
            raise MemoryStoreError(f"{self._path!r} is another program's SQLite database; it was not touched")
        return 0

    def _migrate(self, connection: Connection) -> None:
        """Bring the schema up to date, in one transaction; another process may do the same at the same time."""
        _write_ahead(connection, monotonic() + self._timeout)
        connection.execute("BEGIN IMMEDIATE")
        for step in range(self._version(connection), len(_MIGRATIONS)):
            for statement in _MIGRATIONS[step].split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.execute("COMMIT")

    def _append(self, name: str, batch: list[BuiltinMessage]) -> Exchange[tuple[int, ...]]:
        rows = Batch(name, batch)
        return Exchange(partial(_append, id_bytes(name), rows), rows.spread, name)

    def _last(self, name: str, n: int, system: int) -> Exchange[tuple[StoredMessage, ...]]:
        def last(connection: Connection) -> list[tuple[int, str]]:
            rows = connection.execute(_TAIL, (id_bytes(name), n)).fetchall()
            if system:
                first = rows[-1][0] if rows else 1 << 62
                rows += connection.execute(_SYSTEM, (id_bytes(name), first, system)).fetchall()
            return rows[::-1]

        return Exchange(last, lambda rows: stored_messages(name, rows), name)

    def _page(self, name: str, after: int, limit: int | None) -> Exchange[Page]:
        wanted = PAGE_ROWS if limit is None else min(limit, PAGE_ROWS)

        def page(connection: Connection) -> tuple[list[tuple[int, str]], bool]:
            rows = []
            size = 0
            for row in connection.execute(_READ, (id_bytes(name), after, wanted)):
                rows.append(row)
                size += len(row[1])
                if size > PAGE_BYTES:
                    return rows, True
            return rows, len(rows) == wanted

        return Exchange(page, lambda found: Page(stored_messages(name, found[0]), found[1]), name)

    def _conversation_ids(self, after: str | None, limit: int | None) -> Exchange[tuple[str, ...]]:
        bounds = (id_bytes(after or ""), -1 if limit is None else limit)
        return Exchange(
            lambda connection: connection.execute(_NAMES, bounds).fetchall(),
            lambda rows: tuple([id_text(name) for (name,) in rows]),
        )

    def _count(self, name: str) -> Exchange[int]:
        def count(connection: Connection) -> int:
            found = connection.execute(_END, (id_bytes(name),)).fetchone()
            return found[1] if found else 0

        return Exchange(count, int, name)

    def _delete(self, name: str) -> Exchange[None]:
        def delete(connection: Connection) -> None:
            connection.execute("BEGIN IMMEDIATE")
            for key, _ in connection.execute(_END, (id_bytes(name),)).fetchall():
                connection.execute("DELETE FROM messages WHERE conversation = ?", (key,))
                connection.execute("DELETE FROM conversations WHERE id = ?", (key,))
            connection.execute("COMMIT")

        return Exchange(delete, lambda _: None, name)

    def close(self) -> None:
        """Close the connections that no call uses now; the next call opens a new one."""
        while self._idle and self._process == os.getpid():
            self._idle.pop().close()


def _append(name: bytes, batch: Batch, connection: Connection) -> Sequence[int]:
    """Append rows in one transaction and give their numbers.

    A new message seldom has the id of an old one, so the unique index is asked first, and only then the messages.
    """
    try:
        return _insert(name, batch, connection)
    except Exception as error:
        if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_CONSTRAINT"):
            raise
    connection.execute("ROLLBACK")
    return _insert(name, batch, connection, look=True)


def _insert(name: bytes, batch: Batch, connection: Connection, *, look: bool = False) -> Sequence[int]:
    connection.execute("BEGIN IMMEDIATE")
    found = connection.execute(_END, (name,)).fetchone()
    key, end = found or (connection.execute(_BEGIN, (name,)).lastrowid, 0)
    known = _known(connection, key, batch) if look else {}
    fresh = [row for place, row in enumerate(batch.rows) if place not in known] if known else batch.rows
    connection.executemany(_INSERT, [(key, number, *row) for number, row in enumerate(fresh, end + 1)])
    connection.execute("COMMIT")
    numbers = range(end + 1, end + 1 + len(fresh))
    if not known:
        return numbers
    rest = iter(numbers)
    return [known.get(place) or next(rest) for place in range(len(batch.rows))]


def _known(connection: Connection, key: int | None, batch: Batch) -> dict[int, int]:
    """Find the rows of a batch that are stored, as place and number."""
    known = [
        (place, *found)
        for place, (_, message_id, _) in enumerate(batch.rows)
        if message_id and (found := connection.execute(_KNOWN, (key, message_id)).fetchone())
    ]
    batch.settle(known)
    return {place: sequence for place, sequence, _ in known}


def _write_ahead(connection: Connection, deadline: float) -> None:
    """Turn write-ahead logging on; SQLite itself does not wait here for another connection that does the same."""
    import sqlite3

    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or monotonic() > deadline:
                raise
            sleep(0.005)
        else:
            return
