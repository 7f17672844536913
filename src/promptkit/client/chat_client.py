"""Talk to a chat model the short way: say what goes in, call, take what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

from attrs import field, frozen

from promptkit._frozen import Value, shown, tuple_of
from promptkit.client.advisors.base import AdvisorLike
from promptkit.client.advisors.tool_calling import ToolCallingAdvisor
from promptkit.client.answers import AsyncCallAnswer, AsyncStreamAnswer, CallAnswer, StreamAnswer
from promptkit.client.chain import as_advisor, in_order
from promptkit.client.request import NO_VALUES, ChatClientRequest, identified, read_only
from promptkit.client.said import NOTHING_SAID, Said, TextLike, said_of
from promptkit.content import Media
from promptkit.contracts import AnyChatModel
from promptkit.errors import PromptError
from promptkit.messages import Message, SystemMessage, UserMessage
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.prompt import Prompt, PromptLike
from promptkit.renderers.base import TemplateRenderer
from promptkit.templates.actions import Variables
from promptkit.tools import Tool
from promptkit.tools.manager import tools_by_name

__all__ = ["ChatClient", "ChatClientRequestSpec"]


def _as_tools(tools: Iterable[Tool[..., Any]]) -> tuple[Tool[..., Any], ...]:
    return tuple(tools_by_name(tools).values())


def _as_advisors(advisors: Iterable[AdvisorLike]) -> tuple[Any, ...]:
    if not isinstance(advisors, Iterable):
        raise PromptError(f"advisors must be a list of advisors, not {shown(advisors)}")
    return tuple(map(as_advisor, advisors))


def _as_options(options: ChatOptions | None) -> ChatOptions:
    if options is None:
        return NO_OPTIONS
    if not isinstance(options, ChatOptions):
        raise PromptError(f"options must be ChatOptions, not {shown(options)}")
    return options


@frozen(repr=False, eq=False)
class ChatClientRequestSpec(Value):
    """Say what a call consists of; every method gives another request, so that one can be kept and branched.

    Start it with `ChatClient.prompt`. At the call the system text stands first, then the messages, then the user's
    text; blank texts are left out.

    >>> from promptkit.testing import EchoChatModel
    >>> greeting = ChatClient(EchoChatModel()).prompt().system("Be kind.")
    >>> greeting.user("Greet {name}.", {"name": "Ada"}).call().content()
    'Greet Ada.'
    """

    chat_model: AnyChatModel
    _system: Said = field(default=NOTHING_SAID, kw_only=True, alias="_system")
    _user: Said = field(default=NOTHING_SAID, kw_only=True, alias="_user")
    _messages: tuple[Message, ...] = field(default=(), kw_only=True, alias="_messages")
    _options: ChatOptions = field(default=NO_OPTIONS, kw_only=True, alias="_options")
    _tools: tuple[Tool[..., Any], ...] = field(default=(), kw_only=True, alias="_tools")
    _tool_context: Mapping[str, Any] = field(default=NO_VALUES, kw_only=True, alias="_tool_context")
    _advisors: tuple[Any, ...] = field(default=(), kw_only=True, alias="_advisors")
    _context: Mapping[str, Any] = field(default=NO_VALUES, kw_only=True, alias="_context")
    _conversation_id: str | None = field(default=None, kw_only=True, alias="_conversation_id")
    _renderer: TemplateRenderer | str = field(default="st", kw_only=True, alias="_renderer")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} for {type(self.chat_model).__name__}>"

    def system(self, text: TextLike | None = None, /, variables: Variables | None = None) -> Self:
        """Say who the model is; takes the place of the client's own system text.

        Args:
            text: Text as it is, or a template. Left out, the text there is gets the variables.
            variables: Makes a template of a text, and fills it in. They are laid over those given earlier.
        """
        return self.mutate(_system=self._system.again(text, variables))

    def user(
        self, text: TextLike | None = None, /, variables: Variables | None = None, *, media: Iterable[Media] = ()
    ) -> Self:
        """Say what is asked, last in the prompt; takes the place of the client's own user text.

        Args:
            text: Text as it is, or a template. Left out, the text there is gets the variables.
            variables: Makes a template of a text, and fills it in. They are laid over those given earlier.
            media: Media behind the text, after those given earlier.
        """
        added = tuple_of(Media, media, "media")
        return self.mutate(_user=self._user.again(text, variables, added))

    def messages(self, messages: PromptLike, /, *more: Message) -> Self:
        """Append messages: between the system text and the user's text."""
        given = Prompt(messages).messages + Prompt(more).messages
        return self.mutate(_messages=(*self._messages, *given))

    def options(self, options: ChatOptions, /) -> Self:
        """Lay options over those there are."""
        return self.mutate(_options=self._options.merge(_as_options(options)))

    def tools(self, *tools: Tool[..., Any], context: Mapping[str, Any] | None = None) -> Self:
        """Let the model call these functions, in the place of those there were.

        Args:
            tools: Functions with `tool` above them; none to keep those there are.
            context: Values for tools with a `ToolContext`, laid over those given earlier.
        """
        chosen = _as_tools(tools) if tools else self._tools
        return self.mutate(_tools=chosen, _tool_context=_laid_over(self._tool_context, context))

    def advisors(self, *advisors: AdvisorLike, context: Mapping[str, Any] | None = None) -> Self:
        """Add advisors.

        Args:
            advisors: Advisors, or functions that are one.
            context: Values for them, laid over those given earlier.
        """
        added = (*self._advisors, *_as_advisors(advisors))
        return self.mutate(_advisors=added, _context=_laid_over(self._context, context))

    def conversation(self, conversation_id: str, /) -> Self:
        """Make it a part of a conversation; its messages get ids, and a memory advisor knows where to look."""
        return self.mutate(_conversation_id=checked_conversation(conversation_id))

    def call(self) -> CallAnswer:
        """Ask the model, once, when something of the answer is asked for."""
        return CallAnswer(self.chat_model, *self._ready())

    def stream(self) -> StreamAnswer:
        """Ask the model for a stream, when its first piece is asked for."""
        return StreamAnswer(self.chat_model, *self._ready())

    def acall(self) -> AsyncCallAnswer:
        """Do `call` without blocking: ``await request.acall().content()``."""
        return AsyncCallAnswer(self.chat_model, *self._ready())

    def astream(self) -> AsyncStreamAnswer:
        """Do `stream` without blocking: ``async for text in request.astream().content()``."""
        return AsyncStreamAnswer(self.chat_model, *self._ready())

    def _ready(self) -> tuple[tuple[Any, ...], ChatClientRequest]:
        """Give the advisors in order, and the request that goes through them."""
        system = self._system.message(SystemMessage, self._renderer)
        user = self._user.message(UserMessage, self._renderer)
        messages = tuple([message for message in (system, *self._messages, user) if message is not None])
        if not messages:
            raise PromptError("there is nothing to ask: give the request a user text or messages")
        if self._conversation_id is not None:
            messages = tuple(map(identified, messages))
        request = ChatClientRequest(
            Prompt(messages, self._options),
            tools=self._tools,
            tool_context=self._tool_context,
            conversation_id=self._conversation_id,
            context=self._context,
        )
        return in_order(self._with_tool_calling()), request

    def _with_tool_calling(self) -> tuple[Any, ...]:
        callers = sum(isinstance(advisor, ToolCallingAdvisor) for advisor in self._advisors)
        if callers > 1:
            raise PromptError(f"there are {callers} ToolCallingAdvisors: one runs all tools")
        return self._advisors if callers or not self._tools else (*self._advisors, ToolCallingAdvisor())


def _laid_over(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return old if new is None else read_only({**old, **read_only(new)})


def checked_conversation(conversation_id: str) -> str:
    """Refuse what is no id of a conversation.

    Raises:
        PromptError: It is no text, or blank.
    """
    if not isinstance(conversation_id, str) or not conversation_id.strip():
        raise PromptError(f"the id of a conversation must be a text that is not blank, not {shown(conversation_id)}")
    return conversation_id


@frozen(repr=False, eq=False)
class ChatClient(Value):
    """Ask a chat model, with defaults, tools, memory and other advisors around it.

    Args:
        chat_model: Any chat model.
        system: The system text, or a template of it.
        user: The user's text where a request says none, or a template of it.
        options: Options, laid over the model's own.
        tools: Functions that the model may call.
        advisors: What stands between the client and the model.
        renderer: The language of texts with variables.

    Raises:
        PromptError: An advisor is none, a text or the options have the wrong type.
        ToolError: A tool is none, or two have one name.

    >>> from promptkit.testing import ScriptedChatModel
    >>> client = ChatClient(ScriptedChatModel(["Ahoy, Ada!"]), system="Talk like a {voice}.")
    >>> client.prompt("I am Ada.").system(variables={"voice": "pirate"}).call().content()
    'Ahoy, Ada!'
    """

    chat_model: AnyChatModel
    system: Said = field(default=None, kw_only=True, converter=said_of)
    user: Said = field(default=None, kw_only=True, converter=said_of)
    options: ChatOptions = field(default=None, kw_only=True, converter=_as_options)
    tools: tuple[Tool[..., Any], ...] = field(default=(), kw_only=True, converter=_as_tools)
    advisors: tuple[Any, ...] = field(default=(), kw_only=True, converter=_as_advisors)
    renderer: TemplateRenderer | str = field(default="st", kw_only=True)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} for {type(self.chat_model).__name__}>"

    def prompt(self, content: str | Prompt | None = None, /) -> ChatClientRequestSpec:
        """Start a request.

        Args:
            content: The user's text, as it is; or a prompt, whose messages and options are taken over.

        Raises:
            PromptError: The text is blank.
        """
        request = ChatClientRequestSpec(
            self.chat_model,
            _system=self.system,
            _user=self.user,
            _options=self.options,
            _tools=self.tools,
            _advisors=self.advisors,
            _renderer=self.renderer,
        )
        if content is None:
            return request
        if isinstance(content, Prompt):
            return request.messages(content.messages).options(content.options)
        if not isinstance(content, str) or not content.strip():
            raise PromptError(f"prompt() takes a text that is not blank, or a Prompt, not {shown(content)}")
        return request.user(content)
