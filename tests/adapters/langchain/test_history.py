"""LangChain's history functions, as its tutorials use them, in chains, and with everything that counts."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit import ChatPromptTemplate, MessagesPlaceholder, Prompt
from promptkit.adapters.langchain import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    StringPromptValue,
    SystemMessage,
    ToolMessage,
    count_tokens_approximately,
    filter_messages,
    get_buffer_string,
    merge_message_runs,
    trim_messages,
)
from promptkit.errors import AdapterError, HistoryError
from promptkit.memory.in_memory import InMemoryChatMemoryRepository
from promptkit.messages import AssistantMessage, UserMessage
from promptkit.testing import EchoChatModel, ScriptedChatModel
from promptkit.tokens import ApproximateTokenCounter
from tests.adapters.langchain import neutral, strategies
from tests.history.test_counters import vocabulary

WEATHER = [
    SystemMessage("You tell the weather."),
    HumanMessage("Will it rain in Oslo?"),
    AIMessage("Yes, from noon on."),
]

ICE_CREAM: list[BaseMessage] = [
    SystemMessage("You sell ice cream."),
    HumanMessage("Hello, I am Ada."),
    AIMessage("Hello, Ada! What may it be?"),
    HumanMessage("What have you got?"),
    AIMessage("Vanilla, lemon and pistachio."),
    HumanMessage("Two of vanilla, please."),
    AIMessage("In a cup or in a cone?"),
    HumanMessage("In a cone."),
    AIMessage("Here you are. Anything else?"),
    HumanMessage("How much is it?"),
    AIMessage("Three crowns."),
    HumanMessage("What was it that I ordered?"),
]


def test_a_weather_chat_is_written_as_text() -> None:
    assert get_buffer_string(WEATHER) == (
        "System: You tell the weather.\nHuman: Will it rain in Oslo?\nAI: Yes, from noon on."
    )
    assert get_buffer_string(WEATHER[1:], human_prefix="Ada", ai_prefix="Bot") == (
        "Ada: Will it rain in Oslo?\nBot: Yes, from noon on."
    )
    assert get_buffer_string(WEATHER[1:], format="xml") == (
        '<message type="human">Will it rain in Oslo?</message>\n<message type="ai">Yes, from noon on.</message>'
    )


def test_an_ice_cream_chat_is_trimmed_by_tokens() -> None:
    tokens = vocabulary("cl100k_base")

    kept = trim_messages(
        ICE_CREAM, max_tokens=45, token_counter=tokens, strategy="last", start_on="human", include_system=True
    )

    assert kept == [ICE_CREAM[0], *ICE_CREAM[9:]]
    assert tokens.overhead + sum(tokens.count(UserMessage(message.text)) for message in kept) <= 45
    assert trim_messages(ICE_CREAM, max_tokens=1000, token_counter=tokens) == ICE_CREAM


def test_an_ice_cream_chat_is_trimmed_by_the_number_of_messages() -> None:
    options: Any = {"token_counter": len, "strategy": "last", "start_on": "human", "include_system": True}

    assert trim_messages(ICE_CREAM, max_tokens=5, **options) == [ICE_CREAM[0], *ICE_CREAM[9:]]
    assert trim_messages(ICE_CREAM, max_tokens=4, **options) == [ICE_CREAM[0], *ICE_CREAM[9:]]
    assert trim_messages(ICE_CREAM, max_tokens=3, **options) == [ICE_CREAM[0], ICE_CREAM[11]]
    assert trim_messages(ICE_CREAM, max_tokens=2, strategy="first", token_counter=len) == ICE_CREAM[:2]


def test_messages_are_filtered_by_type_name_and_id() -> None:
    chat = [
        SystemMessage("You are kind.", id="1"),
        HumanMessage("An example?", id="2", name="example_user"),
        AIMessage("An example.", id="3", name="example_assistant"),
        HumanMessage("A question?", id="4", name="bob"),
        AIMessage("An answer.", id="5", name="alice"),
    ]
    assert filter_messages(chat, include_types="human") == [chat[1], chat[3]]
    assert filter_messages(chat, exclude_names=["example_user", "example_assistant"]) == [chat[0], *chat[3:]]
    assert filter_messages(chat, include_types=[HumanMessage, AIMessage], exclude_ids=["3"]) == [chat[1], *chat[3:]]


def test_runs_of_one_speaker_are_merged() -> None:
    chat = [
        SystemMessage("You are kind."),
        SystemMessage("You rhyme."),
        HumanMessage([{"type": "text", "text": "Why do they say so?"}]),
        HumanMessage("And who are they?"),
        AIMessage("They say it of rain."),
        AIMessage("They are poets."),
    ]
    assert merge_message_runs(chat) == [
        SystemMessage("You are kind.\nYou rhyme."),
        HumanMessage([{"type": "text", "text": "Why do they say so?"}, "And who are they?"]),
        AIMessage("They say it of rain.\nThey are poets."),
    ]


def test_two_sessions_remember_their_own_chats() -> None:
    repository = InMemoryChatMemoryRepository()
    model = ScriptedChatModel([f"answer {number}" for number in range(4)])
    chain: Any = trim_messages(max_tokens=3, token_counter=len, start_on="human") | model

    def ask(session: str, question: str) -> str:
        repository.append(session, [UserMessage(question)])
        answer = chain.call(Prompt(stored.message for stored in repository.read(session)))
        repository.append(session, [answer.result.output])
        return str(answer.text)

    assert [ask("a", "one"), ask("b", "two"), ask("a", "three"), ask("a", "four")] == [f"answer {n}" for n in range(4)]
    assert [prompt.messages for prompt in model.prompts] == [
        (UserMessage("one"),),
        (UserMessage("two"),),
        (UserMessage("one"), AssistantMessage("answer 0"), UserMessage("three")),
        (UserMessage("three"), AssistantMessage("answer 2"), UserMessage("four")),
    ]
    assert repository.count("b") == 2


def test_without_messages_each_function_gives_a_step() -> None:
    chat: list[Any] = [HumanMessage("a"), HumanMessage("b"), AIMessage("c"), HumanMessage("d", name="x")]
    step = merge_message_runs() | filter_messages(exclude_names=["x"]) | trim_messages(max_tokens=1, token_counter=len)

    assert step.invoke(chat) == [AIMessage("c")]
    assert asyncio.run(step.ainvoke(chat)) == [AIMessage("c")]
    assert merge_message_runs(chunk_separator=" ").invoke(chat[:2]) == [HumanMessage("a b")]
    assert (merge_message_runs() | len).invoke(chat) == 3


def test_steps_stand_between_a_template_and_a_model() -> None:
    template = ChatPromptTemplate([("system", "Echo."), MessagesPlaceholder("history"), ("user", "{question}")])
    chain = template | trim_messages(max_tokens=2, token_counter=len, include_system=True) | EchoChatModel()
    variables = {"history": [UserMessage("old")], "question": "new"}

    assert chain.invoke(variables).text == "new"
    assert asyncio.run(chain.ainvoke(variables)).text == "new"


def test_prompts_of_ours_go_through_steps_with_their_options() -> None:
    prompt = Prompt([UserMessage("a"), UserMessage("b")])

    assert trim_messages(max_tokens=1, token_counter=len).invoke(prompt) == Prompt("b")
    assert merge_message_runs().invoke(prompt).text == "a\nb"


class Counting:
    """Be a chat model that counts words."""

    def count_tokens(self, prompt: Prompt) -> int:
        return len(prompt.text.split())

    def call(self, prompt: Prompt) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("counter", "budget"),
    [
        (len, 2),
        ("approximate", 20),
        (Counting(), 4),
        (ApproximateTokenCounter(), 30),
        (lambda history: sum(len(message.text) for message in history), 12),
        (neutral.one, 12),
    ],
    ids=["len", "approximate", "a model", "a counter", "a function", "a function of one"],
)
def test_everything_that_counts_is_a_counter(counter: Any, budget: int) -> None:
    chat = [HumanMessage("one " * 30), HumanMessage("two two"), AIMessage("three")]

    assert trim_messages(chat, max_tokens=budget, token_counter=counter) == chat[1:]


def test_a_function_of_one_message_is_known_by_its_annotation_or_by_the_option() -> None:
    def unannotated(message):  # type: ignore[no-untyped-def]
        return len(message.text)

    chat = [HumanMessage("long enough"), HumanMessage("hi")]
    assert trim_messages(chat, max_tokens=2, token_counter=unannotated, per_message=True) == chat[1:]
    assert trim_messages(chat, max_tokens=2, token_counter=neutral.one) == chat[1:]
    with pytest.raises(HistoryError, match="the token_counter, handed a list of messages, failed: AttributeError"):
        trim_messages(chat, max_tokens=2, token_counter=unannotated)


REFUSED: dict[str, tuple[Any, str]] = {
    "a counter's name": ({"token_counter": "exact"}, "token_counter 'exact' is not known; the one name is 'approximate'"),
    "no counter": ({"token_counter": 3}, "token_counter must be 'approximate', a chat model"),
    "a counter of text": ({"token_counter": lambda history: "3"}, "the token_counter gave '3': a count is an int"),
    "a counter below zero": ({"token_counter": lambda history: -1}, "gave -1"),
    "a strategy": ({"strategy": "middle"}, "strategy must be 'first' or 'last', not 'middle'"),
    "a budget": ({"max_tokens": "3"}, "max_tokens must be a number, not '3'"),
    "a budget that is no number": ({"max_tokens": math.nan}, "max_tokens must be a number, not nan"),
    "a splitter": ({"text_splitter": 3}, "text_splitter must be a function or have split_text, not 3"),
    "a start for the first": ({"strategy": "first", "start_on": "human"}, "have no meaning for strategy='first'"),
    "no types": ({"start_on": 3}, "start_on takes types such as 'human' and message classes, not 3"),
    "a type": ({"start_on": [3]}, "start_on takes types such as 'human' and message classes, not 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("as_step", [False, True], ids=["at once", "as a step"])
def test_wrong_options_are_refused_when_they_are_given(case: str, as_step: bool) -> None:
    changes, message = REFUSED[case]
    options: Any = {"max_tokens": 3, "token_counter": len, **changes}
    if as_step and "gave" in message:
        options["token_counter"] = lambda history, given=changes["token_counter"]: given(history) if history else 0
        with pytest.raises(HistoryError, match=message):
            trim_messages(**options).invoke([HumanMessage("x")])
        return
    with pytest.raises(HistoryError, match=message):
        trim_messages(None if as_step else [HumanMessage("x")], **options)


def test_a_counter_that_fails_is_named_with_what_it_got() -> None:
    with pytest.raises(HistoryError, match="the token_counter, handed a list of messages, failed: TypeError"):
        trim_messages([HumanMessage("x")], max_tokens=1, token_counter=math.sqrt)


def test_one_text_where_several_are_meant_is_refused() -> None:
    for option in ("include_names", "exclude_names", "include_ids", "exclude_ids", "exclude_tool_calls"):
        given: Any = {option: "c1"}
        with pytest.raises(HistoryError, match=f"{option} takes several str, not 'c1'"):
            filter_messages([HumanMessage("x")], **given)


def test_messages_that_remove_others_are_not_merged() -> None:
    assert merge_message_runs([RemoveMessage("1"), HumanMessage("x")]) == [RemoveMessage("1"), HumanMessage("x")]
    with pytest.raises(AdapterError, match="messages that remove others say nothing"):
        merge_message_runs([RemoveMessage("1"), RemoveMessage("2")])


def test_prompt_values_are_histories() -> None:
    assert trim_messages(StringPromptValue("hi"), max_tokens=1, token_counter=len) == [HumanMessage("hi")]
    assert count_tokens_approximately(StringPromptValue("12345678")) == 6


def test_all_calls_go_with_their_results_and_text_stays() -> None:
    calls: Any = [{"name": "f", "args": {}, "id": "1"}, {"name": "f", "args": {}, "id": "2"}]
    chat = [HumanMessage("q"), AIMessage("so", tool_calls=calls), ToolMessage("r", tool_call_id="1"), AIMessage("a")]

    assert filter_messages(chat, exclude_tool_calls=True) == [chat[0], AIMessage("so"), chat[3]]
    assert filter_messages(chat, exclude_tool_calls=["1"]) == [chat[0], AIMessage("so", tool_calls=calls[1:]), chat[3]]


@given(strategies.histories(), st.integers(0, 60), st.booleans(), st.booleans(), st.sampled_from(("first", "last")))
def test_nothing_goes_over_the_budget(
    chat: list[BaseMessage], budget: int, partial: bool, system: bool, strategy: Any
) -> None:
    options: Any = {"strategy": strategy, "allow_partial": partial, "include_system": system and strategy == "last"}

    kept = trim_messages(chat, max_tokens=budget, token_counter=neutral.one, **options)

    assert sum(map(neutral.one, kept)) <= budget
    whole = [message for message in kept if any(message is one for one in chat)]
    assert len(kept) - len(whole) <= int(partial)


@given(strategies.histories())
def test_merged_runs_have_no_two_neighbours_of_one_speaker(chat: list[BaseMessage]) -> None:
    merged = merge_message_runs(chat)

    for one, other in pairwise(merged):
        same = (one.type, one.name, getattr(one, "role", None)) == (
            other.type,
            other.name,
            getattr(other, "role", None),
        )
        assert not same or one.type == "tool"
    assert merge_message_runs(merged) == merged


def test_chunks_are_messages_of_their_role() -> None:
    chat = [HumanMessageChunk("a"), AIMessageChunk("b")]

    assert filter_messages(chat, include_types=["human"]) == chat[:1]
    assert filter_messages(chat, include_types=[AIMessage]) == chat[1:]
    assert trim_messages(chat, max_tokens=9, token_counter=len, start_on="ai") == chat[1:]


def test_a_long_history_is_trimmed_with_few_counts() -> None:
    counted = 0

    def count(message: BaseMessage) -> int:
        nonlocal counted
        counted += 1
        return 1

    chat = [HumanMessage("x") for _ in range(2000)]
    assert len(trim_messages(chat, max_tokens=10, token_counter=count)) == 10
    assert counted <= 12


def test_a_splitter_that_gives_no_texts_is_named() -> None:
    for pieces in (None, "abc", [3]):
        with pytest.raises(HistoryError, match="the text_splitter must give a list of str, not"):
            trim_messages(
                [HumanMessage("a b c d")],
                max_tokens=4,
                token_counter="approximate",
                allow_partial=True,
                text_splitter=lambda _, pieces=pieces: pieces,
            )


def test_names_and_ids_are_texts() -> None:
    wrong: Any = [["c1"], 7]
    for item in wrong:
        with pytest.raises(HistoryError, match=r"include_ids takes several str, and .* among them is none"):
            filter_messages([HumanMessage("x")], include_ids=[item])


WRONG_ESTIMATES: dict[str, tuple[dict[str, Any], str]] = {
    "no characters": ({"chars_per_token": 0}, "chars_per_token must be a finite number above 0, not 0"),
    "characters in words": ({"chars_per_token": "4"}, "chars_per_token must be a finite number above 0, not '4'"),
    "endless messages": ({"extra_tokens_per_message": math.inf}, "extra_tokens_per_message must be a finite number, not inf"),
    "no number of images": ({"tokens_per_image": None}, "tokens_per_image must be a finite number, not None"),
    "one tool": ({"tools": {"name": "f"}}, "tools must be a list of tools, not {'name': 'f'}"),
    "a tool's name": ({"tools": [{}, "f"]}, r"tools\[1\] must be a dict or a tool, not 'f'"),
    "a tool beyond JSON": ({"tools": [{"name": {1}}]}, r"tools\[0\] must be a dict or a tool, .* TypeError"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_ESTIMATES)
def test_wrong_options_of_an_estimate_are_refused(case: str) -> None:
    options, message = WRONG_ESTIMATES[case]
    with pytest.raises(HistoryError, match=message):
        count_tokens_approximately([HumanMessage("x")], **options)
