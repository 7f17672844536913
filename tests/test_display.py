"""Show values in notebooks: what is seen, that hostile content stays text, that long content is cut."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptkit import (
    AssistantMessage,
    ChatOptions,
    ChatResponse,
    Generation,
    InvalidToolCall,
    Media,
    MessageType,
    Opaque,
    Prompt,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolResponse,
    ToolResponseMessage,
    Usage,
    UserMessage,
)
from promptkit.display import html_of
from promptkit.options import ToolDefinition
from tests.test_import_cost import MESSAGES_AND_TEMPLATES, cost

ELEMENTS = {"bdi", "details", "div", "pre", "span", "strong", "summary"}
ATTRIBUTES = {"dir", "style"}


class Page(HTMLParser):
    """Read HTML: its text, line by line; every element is closed, and none can load or run anything."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.pieces: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.split("\n") if line]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS
        assert {name for name, _ in attrs} <= ATTRIBUTES
        assert "url(" not in str(attrs)
        self.open.append(tag)
        self.pieces.append("\n" if tag in {"div", "pre"} else "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.pieces.append("\n" if tag in {"div", "pre", "summary"} else "")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment  # type: ignore[assignment]


def lines(value: object) -> list[str]:
    return Page(value._repr_html_()).lines  # type: ignore[attr-defined]


def test_a_prompt_shows_roles_texts_and_options() -> None:
    options = ChatOptions(
        temperature=0, tools=[ToolDefinition("weather", "…", input_schema={})], extra={"key": "secret"}
    )
    prompt = Prompt([SystemMessage("Be brief."), UserMessage("Why?\nTell me.", name="Ada")], options)

    assert lines(prompt) == [
        "system",
        "Be brief.",
        "user · Ada",
        "Why?",
        "Tell me.",
        "temperature: 0, tools: ['weather'], key: …",
    ]


def test_parts_show_in_order_and_media_without_payload() -> None:
    data = b"%PDF-1.7" + b"payload" * 1000
    message = UserMessage(
        [
            "Read:",
            Media(data, name="a.pdf"),
            Media(url="https://example.org/cat.png"),
            Media(file_id="f1"),
            Reasoning("Let me see."),
            Opaque("anthropic", {"type": "web_search", "data": "payload"}),
        ],
        metadata={"cache": {"ttl": 5}},
    )

    assert lines(message) == [
        "user",
        "Read:",
        "document: application/pdf, 7.0 kB, a.pdf",
        "image: image/png, https://example.org/cat.png",
        "document: document, file f1",
        "reasoning",
        "Let me see.",
        "a block of anthropic: web_search",
        "metadata: cache",
    ]


def test_calls_and_results_show() -> None:
    wish = AssistantMessage(
        None,
        tool_calls=[ToolCall("c1", "weather", arguments={"city": "Oslo"})],
        invalid_tool_calls=[InvalidToolCall("c2", None, arguments="{", error="ends early")],
    )
    results = ToolResponseMessage(
        [ToolResponse("c1", "weather", content="3 degrees"), ToolResponse("c2", content="no", status="error")]
    )

    assert lines(wish) == [
        "assistant",
        "calls weather c1",
        '{"city":"Oslo"}',
        "calls no name c2 · invalid: ends early",
        "{",
    ]
    assert lines(results) == ["tool", "weather c1", "3 degrees", "result c2 · error", "no"]


def test_a_response_shows_its_answers_and_the_call() -> None:
    response = ChatResponse(Generation(AssistantMessage("Ahoy"), "stop"), model="m1", usage=Usage(12, 3), id="r1")

    assert lines(response) == ["assistant · stop", "Ahoy", "m1 · 12 + 3 tokens · r1"]
    assert lines(ChatResponse(())) == []


HOSTILE = "\"><script>alert(1)</script><img src=x onerror='alert(1)'>&lt;<!-- --><![CDATA[</pre></div>"


@pytest.mark.parametrize(
    "value",
    [
        SystemMessage(HOSTILE),
        UserMessage(
            [HOSTILE, Media(b"x", "image/png", name=HOSTILE), Media(url=f"https://{HOSTILE}", mime_type="a/b")]
        ),
        UserMessage("hi", name=HOSTILE, metadata={HOSTILE: HOSTILE}),
        AssistantMessage([Reasoning(HOSTILE), Opaque(HOSTILE, {"type": HOSTILE})]),
        AssistantMessage(tool_calls=[ToolCall(HOSTILE, HOSTILE, arguments=HOSTILE)]),
        AssistantMessage(invalid_tool_calls=[InvalidToolCall(HOSTILE, HOSTILE, arguments=HOSTILE, error=HOSTILE)]),
        ToolResponseMessage([ToolResponse(HOSTILE, HOSTILE, content=HOSTILE)]),
        Prompt(HOSTILE, ChatOptions(model=HOSTILE, stop_sequences=[HOSTILE], extra={HOSTILE: 1})),
        ChatResponse(Generation(AssistantMessage(HOSTILE), HOSTILE), model=HOSTILE, id=HOSTILE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_markup_stays_text(value: object) -> None:
    assert HOSTILE[:20] in Page(html_of(value)).text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "aU+202Eb"),
        ("a\u2066b\u2069", "aU+2066bU+2069"),
        ("a\u200bb\ufeff", "aU+200BbU+FEFF"),
        ("a\U000e0041", "aU+E0041"),
        ("a\0\x1b[31m", "aU+0000U+001B[31m"),
        ("a\ud800", "aU+D800"),
        ("a\r\nb\tc\rd", "a\nb\tcU+000Dd"),
        ("👩\u200d🚀 ‌é", "👩\u200d🚀 ‌é"),
    ],
    ids=ascii,
)
def test_what_cannot_be_seen_is_shown_by_number(text: str, seen: str) -> None:
    html = html_of(UserMessage(text))

    html.encode()
    assert "\n".join(Page(html).lines[1:]) == seen


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]), max_size=200))
def test_text_is_neither_lost_nor_obeyed(text: str) -> None:
    assert Page(html_of(UserMessage(f"[{text}]"))).text == f"user\n[{text}]"


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "Po", "Sm"]), max_size=50), st.text(max_size=50))
def test_any_text_makes_sound_html(text: str, name: str) -> None:
    html = html_of(Prompt([UserMessage(text, name=name or None), AssistantMessage(name)]))

    html.encode()
    assert Page(html).text


def test_a_long_text_is_cut_in_the_middle() -> None:
    html = html_of(UserMessage("<" * 500_000 + "\u202e" * 500_000 + "end"))

    assert Page(html).lines[2] == "… 995,003 characters left out …"
    assert Page(html).text.endswith("end")
    assert len(html) < 150_000


def test_long_lists_are_cut_in_the_middle() -> None:
    prompt = Prompt([UserMessage(str(number)) for number in range(5_000)])
    message = UserMessage([f"part {number}" for number in range(5_000)])
    wish = AssistantMessage(tool_calls=[ToolCall(None, "now") for _ in range(5_000)])

    assert "… 4,960 more messages …" in lines(prompt)
    assert lines(prompt)[-1] == "4999"
    assert "… 4,960 more parts …" in lines(message)
    assert "… 4,960 more calls …" in lines(wish)


def test_long_labels_are_cut() -> None:
    message = UserMessage(
        [Media(url="https://example.org/" + "a" * 100_000, mime_type="image/png")], name="n" * 100_000
    )

    assert len(html_of(message)) < 3_000


class Odd:
    message_type = MessageType.USER
    metadata: Mapping[str, object] = {}

    def __init__(self, content: object) -> None:
        self._content = content

    @property
    def content(self) -> object:
        if isinstance(self._content, Exception):
            raise self._content
        return self._content


def test_a_users_own_message_shows_or_says_why_not() -> None:
    good, bad = Odd("mine"), Odd("soon")
    prompt = Prompt([good, bad])  # type: ignore[list-item]
    bad._content = RuntimeError("<gone>")

    assert lines(prompt) == ["user", "mine", "a message of the class Odd cannot be shown: RuntimeError('<gone>')"]


def test_nothing_is_loaded_before_it_is_shown() -> None:
    assert "promptkit.display" not in cost(MESSAGES_AND_TEMPLATES).loaded
