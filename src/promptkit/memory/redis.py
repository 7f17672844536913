"""Keep conversations in Redis, by its own client: each method is one script, run in one round trip."""

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
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

__all__ = ["RedisChatMemoryRepository"]

_SCHEMA_VERSION = 1

# KEYS: the version, the set of conversations, and of one conversation the log (a stream, its entries numbered 1-0, 2-0
# and so on), the numbers by message id, and the numbers of system messages.
_PRELUDE = f"""
local version = tonumber(redis.call('GET', KEYS[1]) or 0)
if version > {_SCHEMA_VERSION} then return redis.error_reply('PROMPTKIT ' .. version) end
local conversations, log, ids, system = KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local function rows(entries, into)
    for _, entry in ipairs(entries) do into[#into + 1] = {{tonumber(entry[1]:match('^%d+')), entry[2][4]}} end
    return into
end
"""

# ARGV: milliseconds to live or 0, the conversation, then role, id and body of each message. A log that has run out of
# time takes its numbers by id with it.
_APPEND = f"""
local before = redis.call('XLEN', log)
if before == 0 and redis.call('EXISTS', ids, system) > 0 then redis.call('DEL', ids, system) end
local numbers, others, length = {{}}, {{}}, before
for at = 3, #ARGV, 3 do
    local number = ARGV[at + 1] ~= '' and tonumber(redis.call('HGET', ids, ARGV[at + 1]) or nil) or false
    if number then
        local body = rows(redis.call('XRANGE', log, number, number), {{}})[1][2]
        if body ~= ARGV[at + 2] then others[#others + 1] = {{at / 3 - 1, number, body}} end
    end
    numbers[at / 3] = number
end
if #others > 0 then return {{0, others}} end
for index, known in ipairs(numbers) do
    if not known then
        local role, id, body = ARGV[3 * index], ARGV[3 * index + 1], ARGV[3 * index + 2]
        length = length + 1
        numbers[index] = length
        redis.call('XADD', log, length .. '-0', 'role', role, 'body', body)
        if id ~= '' then redis.call('HSET', ids, id, length) end
        if role == 'system' then redis.call('RPUSH', system, length) end
    end
end
if version == 0 then redis.call('SET', KEYS[1], {_SCHEMA_VERSION}) end
if before == 0 then redis.call('ZADD', conversations, 0, ARGV[2]) end
if ARGV[1] ~= '0' then
    local now = redis.call('TIME')
    local ending = string.format('%d', now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[1])
    for _, key in ipairs({{log, ids, system}}) do redis.call('PEXPIREAT', key, ending) end
end
return {{1, numbers}}
"""

# ARGV: how many messages, and how many system messages before them.
_LAST = """
local length = redis.call('XLEN', log)
local n, wanted = math.min(ARGV[1], length), math.min(ARGV[2], length)
local earlier, found = {}, {}
if wanted > 0 then
    for _, number in ipairs(redis.call('LRANGE', system, -(n + wanted), -1)) do
        if tonumber(number) <= length - n then earlier[#earlier + 1] = number end
    end
end
for index = math.max(1, #earlier - wanted + 1), #earlier do
    rows(redis.call('XRANGE', log, earlier[index], earlier[index]), found)
end
return rows(redis.call('XRANGE', log, length - n + 1, '+'), found)
"""

# ARGV: the last number that is known, how many messages, and the bytes after which to stop. Gives whether more follow.
_READ = """
local number, wanted, left, found = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), {}
local length = redis.call('XLEN', log)
while number < length and #found < wanted and left >= 0 do
    number = number + 1
    rows(redis.call('XRANGE', log, number, number), found)
    left = left - #found[#found][2]
end
return {found, number < length and 1 or 0}
"""

# ARGV: the id before the first, how many or -1, and what the name of a log begins with. Conversations that have run out
# of time leave the set here.
_NAMES = """
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1]
local wanted, names, page = tonumber(ARGV[2]), {}, {}
repeat
    page = redis.call('ZRANGEBYLEX', conversations, from, '+', 'LIMIT', 0, 500)
    for _, name in ipairs(page) do
        if #names == wanted then return names end
        if redis.call('EXISTS', ARGV[3] .. name) == 1 then names[#names + 1] = name
        else redis.pcall('ZREM', conversations, name) end
        from = '(' .. name
    end
until #page < 500
return names
"""
_COUNT = "return redis.call('XLEN', log)"
_DELETE = "redis.call('ZREM', conversations, ARGV[1]) return redis.call('UNLINK', log, ids, system)"


class RedisChatMemoryRepository(BaseRepository):
    """Keep conversations in Redis (version 5 or newer), each as a stream.

    Each append and each page of a read is one script and one round trip. What is acknowledged is as durable as the
    server's ``appendonly`` and ``appendfsync`` say; a server that evicts keys may lose any of it. A call that fails is
    never sent again, so that nothing is stored twice. The sync methods have a pool, the async ones one for each event
    loop; close them with ``with`` or ``async with``.

    Args:
        url: Where the server is: ``redis://user@host:6379/0``, ``rediss://…`` or ``unix://…``.
        prefix: What the names of all keys begin with; in braces, ``{chats}``, it keeps them on one node of a cluster.
        ttl: Seconds after its last append at which a conversation is forgotten, or ``None`` for never.
        max_connections: Connections that a pool opens at most.
        timeout: Seconds to wait for one, and for an answer.

    >>> RedisChatMemoryRepository("redis://ada:secret@localhost/0", ttl=86_400)
    RedisChatMemoryRepository(prefix='promptkit', ttl=86400)
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "promptkit",
        ttl: float | None = None,
        max_connections: int = 10,
        timeout: float = 30.0,
    ) -> None:
        if ttl is not None and ttl <= 0:
            raise MemoryStoreError(f"ttl must be a number of seconds above 0, or None, not {ttl!r}")
        self._url = url
        self._prefix = prefix
        self._ttl = ttl
        self._max_connections = max_connections
        self._timeout = timeout
        self._clients = Clients(self._client, self._aclient)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(prefix={self._prefix!r}, ttl={self._ttl})"

    def _client(self) -> Redis:
        from redis import BlockingConnectionPool, Redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        return Redis.from_pool(_pool(BlockingConnectionPool, self._url, self._settings(Retry(NoBackoff(), 0))))

    def _aclient(self) -> AsyncRedis:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        return Redis.from_pool(_pool(BlockingConnectionPool, self._url, self._settings(Retry(NoBackoff(), 0))))

    def _settings(self, retry: object) -> dict[str, Any]:
        return {
            "max_connections": self._max_connections,
            "timeout": self._timeout,
            "socket_timeout": self._timeout,
            "retry": retry,
        }

    def _keys(self, name: bytes) -> list[bytes]:
        prefix = self._prefix.encode()
        return [
            prefix + b":schema",
            prefix + b":conversations",
            *(b":".join([prefix, kind, name]) for kind in (b"log", b"ids", b"system")),
        ]

    def _send(self, exchange: Exchange[Answer]) -> Any:
        redis = _redis()
        script, *rest = exchange.ask
        try:
            client = self._clients.get()
            try:
                return client.evalsha(_digest(script), 5, *rest)
            except redis.exceptions.NoScriptError:
                return client.eval(script, 5, *rest)
        except redis.RedisError as error:
            raise _failure(error, exchange.conversation_id) from error

    async def _asend(self, exchange: Exchange[Answer]) -> Any:
        redis = _redis()
        script, *rest = exchange.ask
        try:
            client = self._clients.aget()
            try:
                return await client.evalsha(_digest(script), 5, *rest)
            except redis.exceptions.NoScriptError:
                return await client.eval(script, 5, *rest)
        except redis.RedisError as error:
            raise _failure(error, exchange.conversation_id) from error

    def _ask(self, script: str, name: str, *arguments: bytes | str | int) -> list[object]:
        return [_PRELUDE + script, *self._keys(id_bytes(name)), *arguments]

    def _append(self, name: str, batch: list[BuiltinMessage]) -> Exchange[tuple[int, ...]]:
        return self._append_rows(name, Batch(name, batch))

    def _append_rows(self, name: str, batch: Batch) -> Exchange[tuple[int, ...]]:
        def read(answer: tuple[int, list[Any]]) -> tuple[int, ...] | Exchange[tuple[int, ...]]:
            done, found = answer
            if done:
                return batch.spread(found)
            batch.settle([(place, number, body.decode()) for place, number, body in found])
            return self._append_rows(name, batch)

        fields = [field or b"" for row in batch.rows for field in row]
        lifetime = 0 if self._ttl is None else max(1, round(self._ttl * 1000))
        return Exchange(self._ask(_APPEND, name, lifetime, id_bytes(name), *fields), read, name)

    def _last(self, name: str, n: int, system: int) -> Exchange[tuple[StoredMessage, ...]]:
        return Exchange(self._ask(_LAST, name, n, system), lambda rows: stored_messages(name, rows), name)

    def _page(self, name: str, after: int, limit: int | None) -> Exchange[Page]:
        wanted = PAGE_ROWS if limit is None else min(limit, PAGE_ROWS)
        ask = self._ask(_READ, name, after, wanted, PAGE_BYTES)
        return Exchange(ask, lambda found: Page(stored_messages(name, found[0]), more=bool(found[1])), name)

    def _conversation_ids(self, after: str | None, limit: int | None) -> Exchange[tuple[str, ...]]:
        logs = self._keys(b"")[2]
        ask = self._ask(_NAMES, "", id_bytes(after or ""), -1 if limit is None else limit, logs)
        return Exchange(ask, lambda names: tuple([id_text(name) for name in names]))

    def _count(self, name: str) -> Exchange[int]:
        return Exchange(self._ask(_COUNT, name), int, name)

    def _delete(self, name: str) -> Exchange[None]:
        return Exchange(self._ask(_DELETE, name, id_bytes(name)), lambda _: None, name)

    def close(self) -> None:
        """Close the connections of the sync methods; the next call opens new ones."""
        client = self._clients.take()
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections that async methods opened in this event loop, and those of the sync methods."""
        client = self._clients.atake()
        if client is not None:
            await client.aclose()
        self.close()


def _redis() -> ModuleType:
    try:
        import redis
    except ImportError as error:
        raise MissingDependencyError("redis", extra="redis", reason="RedisChatMemoryRepository") from error
    return redis


def _pool(kind: Any, url: str, settings: dict[str, Any]) -> Any:
    """Make a pool; the URL is not shown if it is wrong, since it may hold a password."""
    try:
        pool = kind.from_url(url, **settings)
    except (ValueError, TypeError, AttributeError):
        raise MemoryStoreError("url is no URL of a Redis server; write 'redis://user@host:6379/0'") from None
    pool.connection_kwargs["decode_responses"] = False
    return pool


def _digest(script: str) -> str:
    from hashlib import sha1

    return sha1(script.encode(), usedforsecurity=False).hexdigest()


def _failure(error: Exception, conversation_id: str | None) -> MemoryStoreError:
    reason = " ".join(str(error).split())
    if reason.startswith("PROMPTKIT "):
        reason = (
            f"it has schema version {reason.split()[1]}, and this promptkit knows versions up to {_SCHEMA_VERSION}; "
            "it was not touched. Use a newer promptkit"
        )
    return MemoryStoreError(f"the Redis store failed: {reason}", conversation_id=conversation_id)
