"""Keep conversations in PostgreSQL, by psycopg 3 and its pools."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from promptkit.contracts import StoredMessage
from promptkit.errors import MemoryStoreError, MissingDependencyError
from promptkit.memory._clients import Clients
from promptkit.memory._repository import Answer, BaseRepository, Exchange, Page
from promptkit.memory._rows import PAGE_BYTES, PAGE_ROWS, Batch, id_bytes, id_text, stored_messages
from promptkit.messages import BuiltinMessage

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection, Error
    from psycopg_pool import AsyncConnectionPool, ConnectionPool

__all__ = ["PostgresChatMemoryRepository"]

_MIGRATIONS = (
    """
    CREATE TABLE promptkit_schema (version integer NOT NULL);
    INSERT INTO promptkit_schema VALUES (0);
    CREATE TABLE promptkit_conversations (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name bytea NOT NULL, messages bigint NOT NULL
    );
    CREATE UNIQUE INDEX promptkit_conversation_names ON promptkit_conversations (sha256(name));
    CREATE INDEX promptkit_conversation_order ON promptkit_conversations (substring(name FROM 1 FOR 1000));
    CREATE TABLE promptkit_messages (
        conversation bigint NOT NULL REFERENCES promptkit_conversations ON DELETE CASCADE,
        sequence bigint NOT NULL, role text NOT NULL, message_id bytea, body text NOT NULL,
        PRIMARY KEY (conversation, sequence)
    );
    CREATE UNIQUE INDEX promptkit_message_ids ON promptkit_messages (conversation, sha256(message_id))
        WHERE message_id IS NOT NULL;
    CREATE INDEX promptkit_system_messages ON promptkit_messages (conversation, sequence) WHERE role = 'system'
    """,
)
"""The step to each schema version from the one before. Ids are bytes: text of this server has no NUL; an index entry
may have 2.7 kB, so indexes hold digests and beginnings."""

# The row of the conversation is locked first, so that a writer sees what the one before it stored; two that begin the
# same conversation with the same message meet at the unique index instead, and the second tries again.
_APPEND = """
    WITH given AS (
        SELECT * FROM unnest(%(roles)s::text[], %(ids)s::bytea[], %(bodies)s::text[])
            WITH ORDINALITY AS given (role, message_id, body, place)
    ), conversation AS (
        SELECT id FROM promptkit_conversations WHERE sha256(name) = sha256(%(name)s) FOR UPDATE
    ), known AS (
        SELECT place, sequence, CASE WHEN stored.body <> given.body THEN stored.body END AS other
        FROM given JOIN promptkit_messages AS stored ON sha256(stored.message_id) = sha256(given.message_id)
        WHERE conversation = (SELECT id FROM conversation)
    ), fresh AS (
        SELECT given.*, row_number() OVER (ORDER BY place) AS rank, count(*) OVER () AS amount FROM given
        WHERE place NOT IN (SELECT place FROM known) AND NOT EXISTS (SELECT FROM known WHERE other IS NOT NULL)
    ), target AS (
        INSERT INTO promptkit_conversations AS old (name, messages)
        SELECT %(name)s, count(*) FROM fresh HAVING count(*) > 0
        ON CONFLICT (sha256(name)) DO UPDATE SET messages = old.messages + excluded.messages
        RETURNING id, messages
    ), numbered AS (
        SELECT target.id, messages - amount + rank AS sequence, fresh.* FROM fresh, target
    ), stored AS (
        INSERT INTO promptkit_messages (conversation, sequence, role, message_id, body)
        SELECT id, sequence, role, message_id, body FROM numbered
    )
    SELECT place, sequence, NULL FROM numbered UNION ALL SELECT place, sequence, other FROM known
"""
_LAST = """
    WITH conversation AS (SELECT id, messages FROM promptkit_conversations WHERE sha256(name) = sha256(%(name)s))
    (SELECT sequence, body FROM promptkit_messages JOIN conversation ON conversation = id
        WHERE sequence > messages - %(n)s)
    UNION ALL
    (SELECT sequence, body FROM promptkit_messages JOIN conversation ON conversation = id
        WHERE role = 'system' AND sequence <= messages - %(n)s ORDER BY sequence DESC LIMIT %(system)s)
    ORDER BY sequence
"""
_READ = """
    SELECT sequence, body, size FROM (
        SELECT sequence, body, octet_length(body) AS size, sum(octet_length(body)) OVER (ORDER BY sequence) AS total
        FROM promptkit_messages
        WHERE conversation = (SELECT id FROM promptkit_conversations WHERE sha256(name) = sha256(%(name)s))
        AND sequence > %(after)s ORDER BY sequence LIMIT %(limit)s
    ) AS page WHERE total - size <= %(bytes)s ORDER BY sequence
"""
_NAMES = """
    SELECT name FROM promptkit_conversations
    WHERE (substring(name FROM 1 FOR 1000), name) > (substring(%(after)s FROM 1 FOR 1000), %(after)s)
    ORDER BY substring(name FROM 1 FOR 1000), name LIMIT %(limit)s
"""
_COUNT = "SELECT messages FROM promptkit_conversations WHERE sha256(name) = sha256(%(name)s)"
_DELETE = "DELETE FROM promptkit_conversations WHERE sha256(name) = sha256(%(name)s) RETURNING true"

_EXISTS = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = to_regclass('promptkit_schema'))"
"""It reads `pg_class` so that the server looks anew: `to_regclass` alone may not see what another has just made."""

_LOCK = int.from_bytes(b"promptki")
"""The key of the advisory lock that only one migration at a time can have."""

_TRIES = 10
"""How often an append begins anew because another writer stored one of its ids at that moment."""


class PostgresChatMemoryRepository(BaseRepository):
    """Keep conversations in three tables of a PostgreSQL database (version 11 or newer).

    The tables are made at the first use, in the first schema of the connection's ``search_path``. Each append and each
    page of a read is one statement and one round trip. What is acknowledged is as durable as the server's
    ``synchronous_commit`` says. The sync and async methods have a pool each, the async ones one for each event loop;
    close them with ``with`` or ``async with``.

    Args:
        conninfo: Where the server is: ``postgresql://user@host/database``, or ``host=… dbname=…``.
        max_connections: Connections that a pool opens at most.
        timeout: Seconds to wait for one.

    >>> PostgresChatMemoryRepository("postgresql://ada:secret@localhost/chats")
    PostgresChatMemoryRepository(max_connections=10, timeout=30.0)
    """

    def __init__(self, conninfo: str, *, max_connections: int = 10, timeout: float = 30.0) -> None:
        self._conninfo = conninfo
        # Statements are not prepared, since that would be a trip of its own.
        self._settings = {"autocommit": True, "prepare_threshold": None, "client_encoding": "utf8"}
        self._max_connections = max_connections
        self._timeout = timeout
        self._upgraded = False
        self._pools = Clients(self._pool, self._apool)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(max_connections={self._max_connections}, timeout={self._timeout})"

    def _pool(self) -> ConnectionPool:
        from psycopg_pool import ConnectionPool

        return ConnectionPool(self._conninfo, kwargs=self._settings, check=_refuse_closed, open=False, **self._bounds())

    def _apool(self) -> AsyncConnectionPool:
        from psycopg_pool import AsyncConnectionPool

        return AsyncConnectionPool(
            self._conninfo, kwargs=self._settings, check=_arefuse_closed, open=False, **self._bounds()
        )

    def _bounds(self) -> dict[str, Any]:
        return {"min_size": 0, "max_size": self._max_connections, "timeout": self._timeout}

    def _upgrade(self) -> None:
        """Bring the tables up to date, or refuse those of a newer promptkit.

        This connects outside the pool, which would hide for ``timeout`` seconds why a server cannot be reached.
        """
        psycopg = _psycopg()
        try:
            given = psycopg.conninfo.conninfo_to_dict(self._conninfo)
        except psycopg.ProgrammingError:  # it quotes what it cannot read, perhaps a password
            raise MemoryStoreError(
                "conninfo says no PostgreSQL server; write 'postgresql://user@host/database' or 'host=… dbname=…'"
            ) from None
        patience = {"connect_timeout": max(2, round(self._timeout))}
        with psycopg.connect(**(patience | given | self._settings)) as connection:
            if _version(connection) < len(_MIGRATIONS):
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
                    for step in _MIGRATIONS[_version(connection) :]:
                        connection.execute(step)
                    connection.execute("UPDATE promptkit_schema SET version = %s", (len(_MIGRATIONS),))
        self._upgraded = True

    def _send(self, exchange: Exchange[Answer]) -> Any:
        psycopg = _psycopg()
        try:
            if not self._upgraded:
                self._upgrade()
            pool = self._pools.get()
            pool.open()
            for left in reversed(range(_TRIES)):
                try:
                    with pool.connection() as connection:
                        return connection.execute(*exchange.ask).fetchall()
                except psycopg.errors.UniqueViolation:
                    if not left:
                        raise
        except psycopg.Error as error:
            raise _failure(error, exchange.conversation_id) from error

    async def _asend(self, exchange: Exchange[Answer]) -> Any:
        psycopg = _psycopg()
        try:
            if not self._upgraded:
                import asyncio

                await asyncio.to_thread(self._upgrade)
            pool = self._pools.aget()
            await pool.open()
            for left in reversed(range(_TRIES)):
                try:
                    async with pool.connection() as connection:
                        return await (await connection.execute(*exchange.ask)).fetchall()
                except psycopg.errors.UniqueViolation:
                    if not left:
                        raise
        except psycopg.Error as error:
            raise _failure(error, exchange.conversation_id) from error

    def _append(self, name: str, batch: list[BuiltinMessage]) -> Exchange[tuple[int, ...]]:
        return self._append_rows(name, Batch(name, batch))

    def _append_rows(self, name: str, batch: Batch) -> Exchange[tuple[int, ...]]:
        roles, ids, bodies = zip(*batch.rows, strict=True)
        parameters = {"name": id_bytes(name), "roles": list(roles), "ids": list(ids), "bodies": list(bodies)}

        def read(rows: list[tuple[int, int, str | None]]) -> tuple[int, ...] | Exchange[tuple[int, ...]]:
            others = [(place - 1, sequence, other) for place, sequence, other in rows if other is not None]
            if others:
                batch.settle(others)
                return self._append_rows(name, batch)
            return batch.spread({place - 1: sequence for place, sequence, _ in rows})

        return Exchange((_APPEND, parameters), read, name)

    def _last(self, name: str, n: int, system: int) -> Exchange[tuple[StoredMessage, ...]]:
        parameters = {"name": id_bytes(name), "n": n, "system": system}
        return Exchange((_LAST, parameters), lambda rows: stored_messages(name, rows), name)

    def _page(self, name: str, after: int, limit: int | None) -> Exchange[Page]:
        wanted = PAGE_ROWS if limit is None else min(limit, PAGE_ROWS)

        def read(rows: list[tuple[int, str, int]]) -> Page:
            messages = stored_messages(name, [(sequence, body) for sequence, body, _ in rows])
            return Page(messages, more=len(rows) == wanted or sum(size for _, _, size in rows) > PAGE_BYTES)

        parameters = {"name": id_bytes(name), "after": after, "limit": wanted, "bytes": PAGE_BYTES}
        return Exchange((_READ, parameters), read, name)

    def _conversation_ids(self, after: str | None, limit: int | None) -> Exchange[tuple[str, ...]]:
        parameters = {"after": id_bytes(after or ""), "limit": limit}
        return Exchange((_NAMES, parameters), lambda rows: tuple([id_text(name) for (name,) in rows]))

    def _count(self, name: str) -> Exchange[int]:
        return Exchange((_COUNT, {"name": id_bytes(name)}), lambda rows: rows[0][0] if rows else 0, name)

    def _delete(self, name: str) -> Exchange[None]:
        return Exchange((_DELETE, {"name": id_bytes(name)}), lambda _: None, name)

    def close(self) -> None:
        """Close the connections of the sync methods; the next call opens new ones."""
        pool = self._pools.take()
        if pool is not None:
            pool.close()

    async def aclose(self) -> None:
        """Close the connections that async methods opened in this event loop, and those of the sync methods."""
        pool = self._pools.atake()
        if pool is not None:
            await pool.close()
        self.close()


def _psycopg() -> ModuleType:
    try:
        import psycopg
        import psycopg_pool  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError("psycopg", extra="postgres", reason="PostgresChatMemoryRepository") from error
    return psycopg


def _version(connection: Connection) -> int:
    """Read the version of the tables, 0 where there are none, and refuse those from the future."""
    exists, *_ = connection.execute(_EXISTS).fetchone() or (False,)
    if not exists:
        return 0
    (version,) = connection.execute("SELECT version FROM promptkit_schema").fetchone() or (0,)
    if version > len(_MIGRATIONS):
        raise MemoryStoreError(
            f"the PostgreSQL store has schema version {version}, and this promptkit knows versions up to "
            f"{len(_MIGRATIONS)}; it was not touched. Use a newer promptkit"
        )
    return int(version)


def _refuse_closed(connection: Connection | AsyncConnection) -> None:
    """Refuse, without a trip, a connection that the server has ended while nobody used it.

    The first read may get the server's last words; then the second meets the end.
    """
    connection.pgconn.consume_input()
    connection.pgconn.consume_input()


async def _arefuse_closed(connection: AsyncConnection) -> None:
    _refuse_closed(connection)


def _failure(error: Error, conversation_id: str | None) -> MemoryStoreError:
    """Tell what went wrong; a server's details are left out, since they quote rows."""
    reason = error.diag.message_primary or " ".join(str(error).split())
    return MemoryStoreError(f"the PostgreSQL store failed: {reason}", conversation_id=conversation_id)
