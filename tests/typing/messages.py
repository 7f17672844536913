"""Give our message classes, and a user's own, where a `Message` is meant."""

from __future__ import annotations

from collections.abc import Mapping

from promptkit import (
    AssistantMessage,
    Media,
    Message,
    MessageType,
    Prompt,
    SystemMessage,
    ToolResponse,
    ToolResponseMessage,
    UserMessage,
)


class Shout:
    message_type = MessageType.USER
    metadata: Mapping[str, object] = {}

    def __init__(self, content: str) -> None:
        self.content = content


class Silent:
    message_type = MessageType.USER


def takes(*messages: Message) -> None: ...


takes(SystemMessage("Be brief."), UserMessage(["Look:", Media(url="https://example.com/a.png")]))
takes(AssistantMessage(), ToolResponseMessage(ToolResponse("1", "now", content="noon")), Shout("hi"))
takes(Silent())  # expect: mypy=arg-type pyright=reportArgumentType
Prompt(Shout("hi"))
Prompt([SystemMessage("Be brief."), Shout("hi")])
SystemMessage(None)  # expect: mypy=arg-type pyright=reportArgumentType
UserMessage("hi", UserMessage("hi"))  # expect: mypy=call-arg pyright=reportCallIssue
