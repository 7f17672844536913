"""Hold one llama.cpp server inside this process, and hide its manners."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Generator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from promptkit.adapters.openai import error_of
from promptkit.errors import MissingDependencyError, ModelError, ResponseFormatError
from promptkit.models._weights import read_weights

__all__ = ["Engine"]

_BATCH = 32
"""Tokens of a prompt that are read between two chances to stop; larger batches take as long."""


class Engine:
    """Answer request bodies of Chat Completions, one after the other; load at the first.

    The engine calls back in the thread that asks it, and only a `True` from there stops it. So each answer is made in
    a thread of its own, and its events wait in a queue, no more than the answer has tokens.
    """

    def __init__(self, path: Path, *, context: int, threads: int, name: str) -> None:
        from importlib.util import find_spec

        if find_spec("xllamacpp") is None:
            raise MissingDependencyError("xllamacpp", extra="local", reason="LlamaCppChatModel")
        self._path = path
        self._context = context
        self._threads = threads
        self._name = name
        self._key = ""
        self._process = 0
        self._server: Any = None
        self._controls: tuple[str, ...] = ()
        self._closed = False
        self._loading = threading.Lock()
        self._answers = _Answers()
        self._end: Any = None

    def _loaded(self) -> Any:
        """Give the server; a fork never gets as far as the locks, which another thread may have held."""
        if self._process not in (0, os.getpid()):
            raise ModelError(
                f"the embedded model was loaded in process {self._process} and cannot be used in the forked process "
                f"{os.getpid()}: make it, or call it first, after the fork"
            )
        with self._loading:
            if self._closed:
                raise ModelError("the embedded model is closed: make a new LlamaCppChatModel")
            if self._server is None:
                self._load()
            return self._server

    def _load(self) -> None:
        import secrets

        weights = read_weights(self._path)
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # spinning threads starve each other on busy cores
        try:
            import xllamacpp
        except ImportError as error:
            raise ModelError(f"xllamacpp is installed but does not load here: {error}") from error

        params = xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.model_alias = {self._name}  # without a name the answers hold the path
        params.n_ctx, params.n_parallel = self._context, 1
        params.n_batch = params.n_ubatch = _BATCH
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = self._threads
        params.n_threads_http = 1
        params.sampling.temp = 0.0
        params.cache_ram_mib = 0  # the default lets a cache of prompts grow to 8 GiB
        params.prefill_assistant = False  # an answer at the end of a prompt is an answer, not the start of the next
        params.ui = False
        params.verbosity = -1
        self._key = secrets.token_hex(16)
        params.api_keys = [self._key]
        try:
            server = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError(
                f"llama.cpp cannot load {str(self._path)!r} with {self._context} tokens of context: the file is "
                "damaged, of a kind that it does not know, or too large for the memory"
            ) from error
        self._controls = weights.control_texts
        self._process = os.getpid()
        self._server = server
        self._end = weakref.finalize(self, self._answers.end, self._process)
        _survive_forks(weakref.ref(self))

    def control_texts(self) -> tuple[str, ...]:
        """Give the texts that would forge roles."""
        self._loaded()
        return self._controls

    def events(self, body: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
        """Give the events of an answer; closing stops it and waits until its thread has ended.

        Raises:
            ModelError: The engine refused the request or failed.
        """
        answer = _Answer(self._loaded(), body | _STREAMED, self._answers)
        answer.start()
        try:
            while (event := answer.events.get()) is not None:
                if isinstance(event, BaseException):
                    raise ModelError(f"the embedded model refused the request: {str(event)[:300]}") from event
                yield event
            if answer.stopped:
                raise ModelError("the embedded model was closed while it answered")
        finally:
            if self._process == os.getpid():
                self._answers.stop(answer)
                answer.join()

    def count_tokens(self, body: dict[str, Any]) -> int:
        """Count the tokens that a request's messages come to.

        Raises:
            ModelError: The engine refused the request or failed.
        """
        import json
        from http.client import HTTPConnection, HTTPException
        from urllib.parse import urlsplit

        server = self._loaded()  # kept until the answer is there
        address = urlsplit(server.listening_address)
        connection = HTTPConnection(address.hostname or "127.0.0.1", address.port)
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}", "Connection": "close"}
        try:
            connection.request("POST", _COUNT_PATH, json.dumps({"messages": body["messages"]}), headers)
            answer = json.loads(connection.getresponse().read())
        except (OSError, HTTPException, ValueError) as error:
            raise ModelError(f"the embedded model cannot count tokens: {type(error).__name__}") from error
        finally:
            connection.close()
        if "error" in answer:
            raise error_of(answer["error"])
        if type(answer.get("input_tokens")) is not int:
            raise ResponseFormatError("the embedded model gave no count of tokens")
        return answer["input_tokens"]  # type: ignore[no-any-return]

    def close(self) -> None:
        """Stop all answers and drop the server; in a fork there is neither."""
        if self._process not in (0, os.getpid()):
            return
        with self._loading:
            self._closed = True
            if self._end is not None:
                self._end()
            self._server = None


_COUNT_PATH = "/v1/chat/completions/input_tokens"

_STREAMED = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}
"""Progress on the prompt is asked for only because it is a chance to stop."""


class _Answers:
    """Let answers be made one after the other, in order."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._queue: deque[_Answer] = deque()

    def wait(self, answer: _Answer) -> bool:
        """Wait for the turn of an answer, and tell whether it is still wanted then."""
        with self._turn:
            self._queue.append(answer)
            self._turn.wait_for(lambda: answer.stopped or self._queue[0] is answer)
            return not answer.stopped

    def leave(self, answer: _Answer) -> None:
        """Give the turn to the next."""
        with self._turn:
            self._queue.remove(answer)
            self._turn.notify_all()

    def stop(self, answer: _Answer) -> None:
        """Stop an answer, wherever it is."""
        with self._turn:
            answer.stopped = True
            self._turn.notify_all()

    def end(self, process: int) -> None:
        """Stop all and wait until they have ended; at the latest when the interpreter ends."""
        if process != os.getpid():
            return
        with self._turn:
            answers = list(self._queue)
            for answer in answers:
                answer.stopped = True
            self._turn.notify_all()
        for answer in answers:
            answer.join()


class _Answer(threading.Thread):
    """Make one answer: ask the engine, and put its events into a queue that ends with ``None``."""

    def __init__(self, server: Any, body: dict[str, Any], answers: _Answers) -> None:
        super().__init__(name="promptkit-llama", daemon=True)
        self.events: SimpleQueue[Any] = SimpleQueue()
        self.stopped = False
        self._server = server
        self._body = body
        self._answers = answers

    def run(self) -> None:
        """Do all of it."""
        try:
            if self._answers.wait(self):
                self._server.handle_chat_completions(self._body, self._take)
        except BaseException as error:  # noqa: BLE001 - raised again where the events are read
            self.events.put(error)
        finally:
            self._server = None
            self._answers.leave(self)
            self.events.put(None)

    def _take(self, event: dict[str, Any]) -> bool:
        """Take an event; the engine swallows what is raised here, so nothing is."""
        if "prompt_progress" not in event:
            self.events.put(event)
        return self.stopped


def _survive_forks(engine: weakref.ref[Engine]) -> None:
    """Let a forked child end: the engine's destructors wait for threads that only the parent has."""
    import ctypes

    def keep() -> None:
        loaded = engine()
        server = None if loaded is None else loaded._server
        if server is None:
            return
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
        libc = ctypes.CDLL(None)
        if hasattr(libc, "on_exit"):  # glibc: what is registered last runs first, before the engine's statics
            libc.on_exit(libc._exit, None)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=keep)
