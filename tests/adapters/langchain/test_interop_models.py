"""Chat models, ours as LangChain's and LangChain's as ours: all calls, tools, usage, errors, in chains."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import langchain_core.exceptions as core_errors
import langchain_core.messages as core
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate as CoreChat
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel

from promptkit import Prompt, contracts
from promptkit.adapters.langchain import (
    as_chat_message_history,
    as_langchain_model,
    from_langchain_model,
    to_langchain_core,
)
from promptkit.content import Media, Reasoning, Text
from promptkit.errors import (
    AdapterError,
    AuthenticationError,
    ContextLengthError,
    ModelError,
    ModelHTTPError,
    PromptkitError,
    RateLimitError,
    ResponseFormatError,
    TransportError,
    UnsupportedContentError,
)
from promptkit.messages import AssistantMessage, InvalidToolCall, ToolCall, UserMessage
from promptkit.options import ChatOptions, ToolDefinition
from promptkit.response import ChatChunk, ChatResponse, ChunkAccumulator, Generation, ToolCallChunk, Usage
from promptkit.testing import EchoChatModel, ScriptedChatModel

USAGE = Usage(10, 3, cache_read_tokens=4, reasoning_tokens=1)
THEIR_USAGE = {
    "input_tokens": 10,
    "output_tokens": 3,
    "total_tokens": 13,
    "input_token_details": {"cache_read": 4},
    "output_token_details": {"reasoning": 1},
}
RESPONSE = ChatResponse(
    Generation(AssistantMessage("Hello Ada", tool_calls=[ToolCall("c1", "f", arguments={"a": 1})]), "tool_calls"),
    id="r1",
    model="m1",
    usage=USAGE,
)
WEATHER = ToolDefinition(
    "weather", "Tell the weather.", input_schema={"type": "object", "properties": {"city": {"type": "string"}}}
)


def scripted(*answers: Any) -> tuple[Any, ScriptedChatModel]:
    model = ScriptedChatModel(answers)
    return as_langchain_model(model), model


def summed(chunks: list[Any]) -> Any:
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    return total


async def collect(chunks: AsyncIterator[Any]) -> list[Any]:
    return [chunk async for chunk in chunks]


ANSWERS: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda model: model.invoke("hi"),
    "ainvoke": lambda model: asyncio.run(model.ainvoke("hi")),
    "batch": lambda model: model.batch(["hi"])[0],
    "abatch": lambda model: asyncio.run(model.abatch(["hi"]))[0],
    "stream": lambda model: core.message_chunk_to_message(summed(list(model.stream("hi")))),
    "astream": lambda model: core.message_chunk_to_message(summed(asyncio.run(collect(model.astream("hi"))))),
}


@pytest.mark.parametrize("way", ANSWERS)
def test_a_model_of_ours_answers_in_every_way(way: str) -> None:
    model, script = scripted(RESPONSE)

    answer = ANSWERS[way](model)

    assert isinstance(answer, core.AIMessage)
    assert answer.content == "Hello Ada"
    assert answer.tool_calls == [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}]
    assert answer.usage_metadata == THEIR_USAGE
    assert answer.response_metadata["finish_reason"] == "tool_calls"
    assert answer.response_metadata["model_name"] == "m1"
    assert script.prompts == (Prompt("hi"),)


def test_a_stream_of_ours_arrives_piece_by_piece() -> None:
    model, _ = scripted("one two three")

    assert [chunk.content for chunk in model.stream("hi") if chunk.content] == ["one ", "two ", "three"]


def test_running_usage_adds_up_to_the_last_in_their_sums() -> None:
    chunks = [ChatChunk("a", usage=Usage(5, 1)), ChatChunk("b", usage=Usage(5, 2)), ChatChunk("c", usage=Usage(5, 3))]
    model, _ = scripted(chunks)

    assert summed(list(model.stream("hi"))).usage_metadata == {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}


def test_other_choices_and_usage_of_nothing_are_no_pieces() -> None:
    chunks = [
        ChatChunk("a", tool_calls=[ToolCallChunk(None, "c1", name="f", arguments="{")]),
        ChatChunk("b", choice=1),
        ChatChunk(tool_calls=[ToolCallChunk(None, None, arguments="}")], usage=Usage(1, 1), usage_is_delta=True),
    ]
    for way in ("stream", "astream"):
        answer = ANSWERS[way](scripted(chunks)[0])
        assert (answer.content, answer.tool_calls) == (
            "a",
            [{"name": "f", "args": {}, "id": "c1", "type": "tool_call"}],
        )
        assert answer.usage_metadata["total_tokens"] == 2


def test_metadata_that_comes_again_is_not_put_together() -> None:
    model, _ = scripted(
        [ChatChunk("a", model="m1"), ChatChunk("b", model="m1", finish_reason="stop"), ChatChunk(finish_reason="stop")]
    )
    total = summed(list(model.stream("hi")))

    assert total.response_metadata["model_name"] == "m1"
    assert total.response_metadata["finish_reason"] == "stop"


def test_thoughts_media_and_broken_calls_are_blocks_and_invalid_calls() -> None:
    message = AssistantMessage(
        [Reasoning("hm"), Text("a"), Media(b"x", "image/png")],
        invalid_tool_calls=[InvalidToolCall("c", "f", arguments="{", error="cut")],
    )
    model, _ = scripted(message)
    answer = model.invoke("hi")

    assert [block["type"] for block in answer.content] == ["reasoning", "text", "image"]
    assert answer.invalid_tool_calls[0]["args"] == "{"


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return city


class Weather(BaseModel):
    """Tell the weather."""

    city: str


FORMS: dict[str, Any] = {
    "a tool of theirs": weather,
    "a class": Weather,
    "OpenAI's dict": {"type": "function", "function": {"name": "weather", "description": "Tell the weather.", "parameters": {}}},
    "a definition of ours": WEATHER,
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_tools_are_offered_in_every_form(form: str) -> None:
    model, script = scripted("ok")
    model.bind_tools([FORMS[form]], tool_choice="any").invoke("hi")

    options = script.prompts[0].options
    assert isinstance(options.tools, tuple)
    assert options.tools[0].name.lower() == "weather"
    assert options.tools[0].description == "Tell the weather."
    assert options.tool_choice == "required"


@pytest.mark.parametrize(
    ("given", "choice"),
    [
        ("auto", "auto"),
        ("any", "required"),
        (True, "required"),
        ("weather", "weather"),
        ({"type": "function", "function": {"name": "weather"}}, "weather"),
        ({"type": "tool", "name": "weather"}, "weather"),
        ({"type": "any"}, "required"),
        ({"type": "auto"}, "auto"),
    ],
)
def test_the_choice_of_a_tool_is_in_our_words(given: Any, choice: str) -> None:
    model, script = scripted("ok")
    model.bind_tools([weather], tool_choice=given).invoke("hi")

    assert script.prompts[0].options.tool_choice == choice


def test_settings_of_a_call_are_options_and_unknown_ones_extra() -> None:
    model, script = scripted("ok")
    model.bind(temperature=0.5, top_k=3, user="ada").invoke("hi", stop=["END"])

    options = script.prompts[0].options
    assert options == ChatOptions(temperature=0.5, top_k=3, stop_sequences=["END"], extra={"user": "ada"})


def test_structured_output_is_what_the_tool_was_called_with() -> None:
    call = AssistantMessage(tool_calls=[ToolCall("c", "Weather", arguments={"city": "Oslo"})])
    model, script = scripted(call)

    assert model.with_structured_output(Weather).invoke("hi") == Weather(city="Oslo")
    assert script.prompts[0].options.tool_choice == "required"


def test_a_model_of_ours_stands_in_chains() -> None:
    chain = (
        CoreChat([("system", "Echo."), ("human", "{text}")]) | as_langchain_model(EchoChatModel()) | StrOutputParser()
    )

    assert chain.invoke({"text": "hi {x}"}) == "hi {x}"
    assert chain.batch([{"text": "a"}, {"text": "b"}]) == ["a", "b"]
    assert "".join(chain.stream({"text": "hi there"})) == "hi there"
    assert asyncio.run(chain.ainvoke({"text": "hi"})) == "hi"


class Tokens(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_llm_new_token(self, token: Any, **_: Any) -> None:
        self.seen.append(token)

    def on_llm_error(self, error: BaseException, **_: Any) -> None:
        self.seen.append(type(error))


def test_callbacks_see_every_token_and_error() -> None:
    tokens = Tokens()
    model, _ = scripted("one two", ModelError("busy", retryable=True))

    list(model.stream("hi", config={"callbacks": [tokens]}))
    assert [token for token in tokens.seen if token] == ["one ", "two"]
    with pytest.raises(ModelError, match="busy"):
        model.invoke("hi", config={"callbacks": [tokens]})
    assert tokens.seen[-1] is ModelError


def test_a_model_that_counts_counts_for_them() -> None:
    class Counting:
        def count_tokens(self, prompt: Prompt) -> int:
            return len(prompt.text) + 100 * bool(prompt.options.tools)

        def call(self, prompt: Prompt) -> ChatResponse:
            raise NotImplementedError

    model = as_langchain_model(Counting())
    assert model.get_num_tokens_from_messages([core.HumanMessage("four")]) == 4
    assert model.get_num_tokens_from_messages([core.HumanMessage("four")], tools=[weather]) == 104


class Recorder(BaseChatModel):
    """Answer as a list says, and remember what was asked."""

    answers: list[Any]
    asked: list[Any]

    @property
    def _llm_type(self) -> str:
        return "recorder"

    def _next(self, messages: Any, stop: Any, settings: Any) -> Any:
        self.asked.append((messages, stop, settings))
        answer = self.answers[len(self.asked) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any) -> ChatResult:
        answer = self._next(messages, stop, settings)
        message = summed(answer) if isinstance(answer, list) else answer
        return ChatResult(generations=[ChatGeneration(message=core.message_chunk_to_message(message))])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **settings: Any
    ) -> Iterator[ChatGenerationChunk]:
        for piece in self._next(messages, stop, settings):
            if isinstance(piece, Exception):
                raise piece
            yield ChatGenerationChunk(message=piece)

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        return self.bind(tools=tools, **settings)


def recorder(*answers: Any) -> Recorder:
    return Recorder(answers=list(answers), asked=[])


CHUNK: Any = core.AIMessageChunk
PIECES = [
    CHUNK("Hello", id="msg_1", response_metadata={"model_name": "m1"}),
    CHUNK(" Ada"),
    CHUNK("", tool_call_chunks=[{"name": "f", "args": '{"a":', "id": "c1", "index": 0}]),
    CHUNK("", tool_call_chunks=[{"name": None, "args": " 1}", "id": None, "index": 0}]),
    CHUNK("", usage_metadata=THEIR_USAGE, response_metadata={"finish_reason": "tool_calls"}, chunk_position="last"),
]


def joined(chunks: list[ChatChunk]) -> ChatResponse:
    return ChatResponse.from_chunks(chunks)


CALLS: dict[str, Callable[[Any, Prompt], ChatResponse]] = {
    "call": lambda model, prompt: model.call(prompt),
    "acall": lambda model, prompt: asyncio.run(model.acall(prompt)),
    "stream": lambda model, prompt: joined(list(model.stream(prompt))),
    "astream": lambda model, prompt: joined(asyncio.run(collect(model.astream(prompt)))),
}


@pytest.mark.parametrize("way", CALLS)
def test_a_model_of_theirs_answers_in_every_way(way: str) -> None:
    theirs = recorder(PIECES)

    response = CALLS[way](from_langchain_model(theirs), Prompt("hi"))

    message = response.results[0].output
    assert message.text == "Hello Ada"
    assert message.tool_calls[0].parsed_arguments == {"a": 1}
    assert response.results[0].finish_reason == "tool_calls"
    assert (response.id, response.model) == ("msg_1", "m1")
    assert (response.usage.prompt_tokens, response.usage.cache_read_tokens, response.usage.reasoning_tokens) == (
        10,
        4,
        1,
    )
    assert theirs.asked[0][0] == [core.HumanMessage("hi")]


def test_options_and_tools_go_to_a_model_of_theirs() -> None:
    theirs = recorder(core.AIMessage("ok"), core.AIMessage("ok"))
    options = ChatOptions(
        temperature=0.5, stop_sequences=["END"], tools=[WEATHER], tool_choice="required", extra={"user": "ada"}
    )
    model = from_langchain_model(theirs, options=ChatOptions(temperature=1, seed=3))
    model.call(Prompt("hi", options))
    model.call(Prompt("hi"))

    _, stop, settings = theirs.asked[0]
    assert stop == ["END"]
    assert settings == {
        "temperature": 0.5,
        "seed": 3,
        "user": "ada",
        "tool_choice": "any",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tell the weather.",
                    "parameters": WEATHER.input_schema.thaw(),
                },
            }
        ],
    }
    assert theirs.asked[1][2] == {"temperature": 1, "seed": 3}


def test_thoughts_and_blocks_of_their_streams_are_parts() -> None:
    pieces = [
        CHUNK("", additional_kwargs={"reasoning_content": "let me"}),
        CHUNK("", additional_kwargs={"reasoning_content": " see"}),
        CHUNK([{"type": "text", "text": "Hel", "index": 1}]),
        CHUNK([{"type": "text", "text": "lo", "index": 1}]),
        CHUNK([{"type": "thinking", "thinking": "hm", "signature": "s", "index": 2}]),
    ]
    message = joined(list(from_langchain_model(recorder(pieces)).stream(Prompt("hi")))).results[0].output

    assert message.content == (Reasoning("let me see"), Text("Hello"), Reasoning("hm", metadata={"signature": "s"}))


ERRORS: dict[str, tuple[Exception, type[ModelError], bool]] = {
    "login": (core_errors.ModelAuthenticationError("no"), AuthenticationError, False),
    "permission": (core_errors.ModelPermissionDeniedError("no"), AuthenticationError, False),
    "rate": (core_errors.ModelRateLimitError("slow"), RateLimitError, True),
    "request": (core_errors.ModelInvalidRequestError("bad"), ModelHTTPError, False),
    "server": (core_errors.ModelAPIError("down"), ModelHTTPError, True),
    "connection": (core_errors.ModelConnectionError("gone"), TransportError, True),
    "timeout": (TimeoutError("late"), TransportError, True),
    "length": (core_errors.ContextOverflowError("long"), ContextLengthError, False),
    "any": (RuntimeError("odd"), ModelError, False),
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("way", CALLS)
def test_their_errors_are_ours(case: str, way: str) -> None:
    error, kind, retryable = ERRORS[case]
    with pytest.raises(kind, match=f"{type(error).__name__} of LangChain: {error}") as caught:
        CALLS[way](from_langchain_model(recorder(error)), Prompt("hi"))

    assert type(caught.value.__cause__) is type(error)
    assert caught.value.retryable is retryable


def test_errors_of_ours_go_through_a_model_of_theirs() -> None:
    with pytest.raises(RateLimitError, match=r"^slow"):
        from_langchain_model(recorder(RateLimitError("slow", status=429))).call(Prompt("hi"))


def test_a_broken_stream_says_what_had_arrived() -> None:
    model = from_langchain_model(recorder([CHUNK("one "), CHUNK("two"), ConnectionError("gone")]))
    seen: list[str] = []
    with pytest.raises(TransportError) as caught:
        seen.extend(chunk.text for chunk in model.stream(Prompt("hi")))

    assert caught.value.partial is not None
    assert caught.value.partial.text == "one two"


def test_a_stream_that_breaks_on_a_piece_says_what_had_arrived() -> None:
    def pieces(_: Any) -> Iterator[Any]:
        yield CHUNK("one ")
        yield "two"

    with pytest.raises(ResponseFormatError) as caught:
        list(from_langchain_model(RunnableLambda(pieces)).stream(Prompt("hi")))

    assert caught.value.partial is not None
    assert caught.value.partial.text == "one "


class UnprintableError(Exception):
    status_code = True
    request_id = 5

    def __str__(self) -> str:
        raise RuntimeError("no text")

    @property
    def is_retryable(self) -> bool:
        raise RuntimeError("no fact")


class NumberedError(Exception):
    status_code = 99_999


@pytest.mark.parametrize(
    ("error", "text"), [(UnprintableError(), "an error that cannot be printed"), (NumberedError("x"), "x")]
)
@pytest.mark.parametrize("way", CALLS)
def test_odd_errors_of_theirs_are_ours_too(error: Exception, text: str, way: str) -> None:
    with pytest.raises(ModelError, match=f"{type(error).__name__} of LangChain: {text}") as caught:
        CALLS[way](from_langchain_model(recorder(error)), Prompt("hi"))

    assert type(caught.value) is ModelError
    assert not caught.value.retryable


def test_closing_a_stream_closes_theirs() -> None:
    closed: list[bool] = []

    def pieces(_: Any) -> Iterator[Any]:
        try:
            for text in ("one ", "two "):
                yield CHUNK(text)
        finally:
            closed.append(True)

    stream: Any = from_langchain_model(RunnableLambda(pieces)).stream(Prompt("hi"))
    assert next(chunk.text for chunk in stream if chunk.text) == "one "
    stream.close()
    assert closed == [True]


def test_a_chain_that_takes_messages_is_a_model() -> None:
    chain: Any = RunnableLambda(lambda messages: core.AIMessage(f"{len(messages)} messages"))

    assert from_langchain_model(chain).call(Prompt([UserMessage("a"), UserMessage("b")])).text == "2 messages"


REFUSED: dict[str, tuple[Callable[[], Any], type[PromptkitError], str]] = {
    "a schema": (
        lambda: from_langchain_model(recorder()).call(Prompt("hi", ChatOptions(output_schema={"type": "object"}))),
        UnsupportedContentError,
        "LangChain has no common way to ask for a schema",
    ),
    "tools for a chain": (
        lambda: from_langchain_model(RunnableLambda(str)).call(Prompt("hi", ChatOptions(tools=[WEATHER]))),
        UnsupportedContentError,
        "RunnableLambda takes no tools",
    ),
    "text for an answer": (
        lambda: from_langchain_model(RunnableLambda(str)).call(Prompt("hi")),
        ResponseFormatError,
        "answers with an AIMessage, not a str",
    ),
    "text for a piece": (
        lambda: list(from_langchain_model(RunnableLambda(str)).stream(Prompt("hi"))),
        ResponseFormatError,
        "streams AIMessages, not str",
    ),
    "no model of theirs": (lambda: from_langchain_model("gpt"), AdapterError, "'gpt' is no chat model of LangChain"),
    "no tools": (lambda: as_langchain_model(EchoChatModel()).bind_tools(None), AdapterError, "tools: must be a list of tools, not None"),  # type: ignore[arg-type]
    "a vendor's own tool": (
        lambda: as_langchain_model(EchoChatModel()).bind_tools([weather, {"type": "web_search"}]),
        AdapterError,
        r"tools\[1\]: {'type': 'web_search'} is no function that a model can call",
    ),
    "a class without fields": (lambda: as_langchain_model(EchoChatModel()).bind_tools([int]), AdapterError, r"tools\[0\]: <class 'int'>"),
    "a tool of a call": (lambda: as_langchain_model(EchoChatModel()).invoke("hi", tools=[{}]), AdapterError, r"tools\[0\]: {} is no"),
    "no choice": (
        lambda: as_langchain_model(EchoChatModel()).bind_tools([weather], tool_choice={"type": "function", "function": {}}),
        AdapterError,
        "tool_choice: .* neither names a tool nor is of a known type",
    ),
    "no repository": (lambda: as_chat_message_history(None, "a"), AdapterError, "None is no repository of conversations"),  # type: ignore[arg-type]
    "no model of ours": (lambda: as_langchain_model("gpt"), AdapterError, "it has none of call, stream"),  # type: ignore[arg-type]
    "broken arguments": (
        lambda: from_langchain_model(recorder()).call(Prompt([AssistantMessage(tool_calls=[ToolCall("c", "f", arguments="{")])])),
        UnsupportedContentError,
        "LangChain holds arguments parsed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_model_of_theirs_cannot_do_is_refused(case: str) -> None:
    make, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        make()


@given(
    st.sampled_from(("", "Hello", "a\nb")),
    st.lists(st.sampled_from(("f", "g")), max_size=2),
    st.sampled_from(("stop", "length", None)),
    st.booleans(),
)
def test_through_both_and_back_an_answer_stays_what_it_was(
    text: str, names: list[str], reason: Any, streamed: bool
) -> None:
    calls = [ToolCall(f"c{index}", name, arguments={"a": [index]}) for index, name in enumerate(names)]
    response = ChatResponse(
        Generation(AssistantMessage(text, tool_calls=calls), reason), id="r", model="m", usage=USAGE
    )
    model = from_langchain_model(as_langchain_model(ScriptedChatModel([response])))

    back = joined(list(contracts.stream(model, Prompt("hi")))) if streamed else model.call(Prompt("hi"))

    assert back.text == text
    assert [(call.id, call.name, call.parsed_arguments) for call in back.results[0].output.tool_calls] == [
        (call.id, call.name, call.parsed_arguments) for call in calls
    ]
    assert (back.results[0].finish_reason, back.model, back.id) == (reason, "m", "r")
    assert back.usage == USAGE


def test_pieces_of_calls_without_index_are_told_apart() -> None:
    pieces = [
        ChatChunk(tool_calls=[ToolCallChunk(None, "c1", name="f", arguments='{"a":')]),
        ChatChunk(tool_calls=[ToolCallChunk(None, None, arguments=" 1}")]),
        ChatChunk(tool_calls=[ToolCallChunk(None, "c2", name="g", arguments="{}")]),
    ]
    model, _ = scripted(pieces)
    total = summed(list(model.stream("hi")))

    assert [(call["id"], call["args"]) for call in total.tool_calls] == [("c1", {"a": 1}), ("c2", {})]
    accumulator = ChunkAccumulator()
    accumulator.extend(pieces)
    assert [call.id for call in accumulator.result().results[0].output.tool_calls] == ["c1", "c2"]


def test_history_of_tools_goes_to_them_and_comes_back() -> None:
    theirs = recorder(core.AIMessage("done"))
    prompt = Prompt([UserMessage("w?"), AssistantMessage(tool_calls=[ToolCall("c1", "f", arguments={"a": 1})])])
    from_langchain_model(theirs).call(prompt)

    assert theirs.asked[0][0] == to_langchain_core(list(prompt.messages))
