"""Make a chat model by its name: ``openai:gpt-5-mini``, ``ollama:qwen3:8b``, ``local``, or one of your own."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from attrs import field, frozen

from promptkit._frozen import Value, shown
from promptkit.contracts import AnyChatModel
from promptkit.errors import PromptError
from promptkit.models._presets import PRESETS, Preset
from promptkit.options import NO_OPTIONS, ChatOptions
from promptkit.renderers.base import nearest

__all__ = ["Factory", "ModelSettings", "chat_model", "providers", "register"]


@frozen(repr=False, weakref_slot=False)
class ModelSettings(Value):
    """Hold what a model is made of; what is ``None`` was not said.

    Args:
        model: The model's name: what stood behind the provider's.
        options: The options that those of a prompt are laid over.
        api_key: The key.
        base_url: Where the server is.
        timeout: Seconds to wait.
        max_retries: How often to ask again after a failure that may pass.

    >>> ModelSettings("gpt-5-mini", timeout=20).model
    'gpt-5-mini'
    """

    model: str | None = None
    options: ChatOptions = field(default=NO_OPTIONS, kw_only=True)
    api_key: str | None = field(default=None, kw_only=True)
    base_url: str | None = field(default=None, kw_only=True)
    timeout: float | None = field(default=None, kw_only=True)
    max_retries: int | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        key = "None" if self.api_key is None else "'***'"
        return f"ModelSettings({self.model!r}, base_url={self.base_url!r}, api_key={key})"


Factory = Callable[[ModelSettings], AnyChatModel]
"""Make a model of its settings; it is called by `chat_model`, and should contact nothing."""


def chat_model(
    name: str,
    *,
    provider: str | None = None,
    options: ChatOptions = NO_OPTIONS,
    api_key: str | None = None,
    base_url: str | None = None,
    timeout: float | None = None,
    max_retries: int | None = None,
) -> Any:
    """Make a chat model by its name; no SDK is imported and nothing is contacted until the first call.

    Args:
        name: The provider's name and the model's, with a colon between; the provider's alone for ``local``, or where
            the options name the model; the model's alone where ``provider`` is given.
        provider: The provider's name; see `providers`.
        options: The options that those of a prompt are laid over.
        api_key: The key; else the provider's own environment variable says it.
        base_url: Where the server is, if not at the provider's own place.
        timeout: Seconds to wait for a connection, and for each piece of an answer.
        max_retries: How often the SDK asks again after a failure that may pass.

    Raises:
        PromptError: There is no such provider, or no key for it.
        MissingDependencyError: The SDK is not installed.

    >>> chat_model("openai:gpt-5-mini").options.model
    'gpt-5-mini'
    >>> chat_model("qwen3:8b", provider="ollama", options=ChatOptions(temperature=0)).options.model
    'qwen3:8b'
    """
    if not isinstance(name, str) or not (provider is None or isinstance(provider, str)):
        raise PromptError(f"a model's name must be a text like 'openai:gpt-5-mini', not {shown(name)}")
    if provider is None:
        provider, _, name = name.partition(":")
    with _LOCK:
        factory = _FACTORIES.get(provider)
        known = sorted(_FACTORIES)
    if factory is None:
        raise PromptError(
            f"{shown(provider)} is no provider of models{nearest(provider, known)}: write 'provider:model', or provider=…, with one of "
            f"{', '.join(known)}; promptkit.models.registry.register adds others"
        )
    settings = ModelSettings(
        name or None,
        options=options,
        api_key=api_key,
        base_url=base_url,
        timeout=timeout,
        max_retries=max_retries,
    )
    return factory(settings)


def register(name: str, factory: Factory, *, replace: bool = False) -> None:
    """Add a provider of models, for this process.

    Args:
        name: Its name; the part before the colon.
        factory: Makes a model.
        replace: Take the place of one that has the name.

    Raises:
        PromptError: The name is taken, or is none.

    >>> from promptkit.testing import EchoChatModel
    >>> register("echo", lambda settings: EchoChatModel(), replace=True)
    >>> chat_model("echo").call
    <bound method EchoChatModel.call of ...>
    """
    if not isinstance(name, str) or not name.isprintable() or name != name.strip() or not name or ":" in name:
        raise PromptError(f"a provider's name must be printable text without a colon, not {shown(name)}")
    if not callable(factory):
        raise PromptError(f"the factory of {name!r} must be a function of ModelSettings, not {shown(factory)}")
    with _LOCK:
        if name in _FACTORIES and not replace:
            raise PromptError(f"there is a provider {name!r} already: choose another name, or say replace=True")
        _FACTORIES[name] = factory


def providers() -> tuple[str, ...]:
    """Give the names of the providers, sorted.

    >>> "anthropic" in providers()
    True
    """
    with _LOCK:
        return tuple(sorted(_FACTORIES))


def _local(settings: ModelSettings) -> AnyChatModel:
    from promptkit.models.local import LlamaCppChatModel

    for name in ("api_key", "base_url", "timeout", "max_retries"):
        if getattr(settings, name) is not None:
            raise PromptError(f"a local model has no {name}")
    return LlamaCppChatModel(settings.model, options=settings.options)


def _connection(settings: ModelSettings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in ("options", "api_key", "base_url", "timeout", "max_retries")}


def _openai(settings: ModelSettings) -> AnyChatModel:
    from promptkit.models.openai import OpenAIChatModel

    return OpenAIChatModel(settings.model, **_connection(settings))


def _responses(settings: ModelSettings) -> AnyChatModel:
    from promptkit.models.openai import OpenAIResponsesChatModel

    return OpenAIResponsesChatModel(settings.model, **_connection(settings))


def _anthropic(settings: ModelSettings) -> AnyChatModel:
    from promptkit.models.anthropic import AnthropicChatModel

    return AnthropicChatModel(settings.model, **_connection(settings))


def _gemini(settings: ModelSettings) -> AnyChatModel:
    from promptkit.models.gemini import GeminiChatModel

    return GeminiChatModel(settings.model, **_connection(settings))


def _preset(name: str, preset: Preset) -> Factory:
    """Give the factory of a server that speaks Chat Completions."""

    def make(settings: ModelSettings) -> AnyChatModel:
        import os

        from promptkit.models.openai import OpenAIChatModel

        # The SDK must never fall back on OpenAI's own variables: its key is not for another server.
        key = (
            settings.api_key or os.environ.get(preset.key_variable or "") or (None if preset.key_variable else _NO_KEY)
        )
        if key is None:
            raise PromptError(f"no key for {name!r}: set the variable {preset.key_variable}, or give api_key=…")
        connection = _connection(settings)
        connection["api_key"] = key
        connection["base_url"] = settings.base_url or os.environ.get(preset.url_variable or "") or preset.base_url
        return OpenAIChatModel(settings.model, **connection, dialect=preset.dialect)

    return make


_NO_KEY = "no-key"
"""What the SDK sends to a server that asks for none; no word that an error would hold, where it is masked."""

_LOCK = Lock()

_FACTORIES: dict[str, Factory] = {
    "anthropic": _anthropic,
    "gemini": _gemini,
    "local": _local,
    "openai": _openai,
    "openai-responses": _responses,
    **{name: _preset(name, preset) for name, preset in PRESETS.items()},
}
