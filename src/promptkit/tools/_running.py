"""Run the jobs of a round: one where it is, several at the same time, each within its seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Protocol

from promptkit.errors import ToolExecutionError

__all__ = ["run_all", "run_all_async"]


class Job(Protocol):
    """Be a call to run, or a problem that stands for its outcome."""

    @property
    def problem(self) -> Exception | None:
        """What stands for the outcome where there is nothing to run."""

    @property
    def run(self) -> Callable[[], Any] | None:
        """What carries the call out."""

    @property
    def is_async(self) -> bool:
        """Whether running gives something to await."""

    @property
    def seconds(self) -> float | None:
        """How long it may take."""


def run_all(jobs: Sequence[Job], *, parallel: bool, workers: int) -> list[Any]:
    """Run jobs and give the value or the exception of each, in order.

    A single job that may take its time runs in the caller's thread; all others run in threads of their own, which end
    with the program.
    """
    if len(jobs) == 1 and not jobs[0].is_async and jobs[0].seconds is None:
        return [_outcome(jobs[0])]
    waiting = _Threads(jobs, workers if parallel else 1)
    return waiting.outcomes()


def _outcome(job: Job) -> Any:
    if job.run is None:
        return job.problem
    try:
        return _in_own_loop(job.run) if job.is_async else job.run()
    except Exception as error:  # noqa: BLE001 - a tool may raise anything, and its policy decides
        return error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the call needs its result all the same
        return _ended_by(error)


def _outcome_in_thread(job: Job) -> Any:
    """Run a job where nobody else hears an interrupt: unanswered, it would be waited for forever."""
    try:
        return _outcome(job)
    except KeyboardInterrupt as error:
        return _ended_by(error)


def _ended_by(error: BaseException) -> ToolExecutionError:
    if isinstance(error, SystemExit):
        return ToolExecutionError("The tool tried to end the program.")
    return ToolExecutionError(f"The tool ended with {type(error).__name__}.")


def _in_own_loop(run: Callable[[], Any]) -> Any:
    """Run a coroutine in a loop of this thread's own; no thread that runs jobs has one already."""
    import asyncio

    async def awaited() -> Any:
        return await run()

    return asyncio.run(awaited())


def _late(seconds: float) -> ToolExecutionError:
    return ToolExecutionError(f"The tool did not finish within {seconds:g} seconds.")


class _Threads:
    """Run jobs in threads, so many at a time, and wait for each no longer than its seconds.

    A late job gives up its place: it goes on unheard, and the next one starts.
    """

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        import contextvars
        import threading

        self._jobs = jobs
        self._places = threading.Semaphore(workers)
        self._holding = {at for at, job in enumerate(jobs) if job.run is not None}
        self._lock = threading.Lock()
        self._started = [threading.Event() for _ in jobs]
        self._done = [threading.Event() for _ in jobs]
        self._begun = [0.0] * len(jobs)
        self._results: list[Any] = [job.problem for job in jobs]
        contexts = [contextvars.copy_context() for _ in jobs]  # here: a context belongs to the thread that copies it
        threads = {
            at: threading.Thread(target=contexts[at].run, args=(self._run, at), daemon=True)
            for at in sorted(self._holding)
        }
        threading.Thread(target=self._feed, args=(threads,), daemon=True).start()

    def _feed(self, threads: Mapping[int, Any]) -> None:
        for at, thread in threads.items():
            self._places.acquire()
            try:
                thread.start()
            except RuntimeError as error:  # the system has no thread left
                self._started[at].set()
                self._finish(at, error)

    def _run(self, at: int) -> None:
        self._begun[at] = monotonic()
        self._started[at].set()
        self._finish(at, _outcome_in_thread(self._jobs[at]))

    def _finish(self, at: int, outcome: Any) -> None:
        self._results[at] = outcome
        self._done[at].set()
        self._leave(at)

    def _leave(self, at: int) -> None:
        with self._lock:
            held = at in self._holding
            self._holding.discard(at)
        if held:
            self._places.release()

    def outcomes(self) -> list[Any]:
        """Wait for every job, in order, and give what came of it."""
        return [self._wait(at, job) for at, job in enumerate(self._jobs)]

    def _wait(self, at: int, job: Job) -> Any:
        if job.run is None:
            return job.problem
        self._started[at].wait()
        left = None if job.seconds is None else max(0.0, self._begun[at] + job.seconds - monotonic())
        if self._done[at].wait(left):
            return self._results[at]
        self._leave(at)
        return _late(job.seconds or 0.0)


async def run_all_async(jobs: Sequence[Job], *, parallel: bool, workers: int) -> list[Any]:
    """Run jobs without blocking and give the value or the exception of each, in order."""
    import asyncio

    slots = asyncio.Semaphore(workers if parallel else 1)

    async def one(job: Job) -> Any:
        if job.run is None:
            return job.problem
        async with slots:
            try:
                async with asyncio.timeout(job.seconds) as limit:
                    return await (job.run() if job.is_async else _in_thread(job))
            except TimeoutError as error:
                return _late(job.seconds or 0.0) if limit.expired() else error
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                return _ended_by(error)  # the tool's own doing: nobody cancels this round
            except Exception as error:  # noqa: BLE001 - a tool may raise anything, and its policy decides
                return error
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the call needs its result all the same
                return _ended_by(error)

    return list(await asyncio.gather(*map(one, jobs)))


async def _in_thread(job: Job) -> Any:
    """Run a job in a thread that does not keep the program alive, and give its value or its exception."""
    import asyncio
    import contextvars
    import threading

    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(outcome: Any) -> None:
        if not future.cancelled():
            future.set_result(outcome)  # exceptions too: a future refuses some of them

    def run() -> None:
        outcome = _outcome_in_thread(job)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True).start()
    return await future
