"""Making models by name: the table of providers, keys, own providers, errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from promptkit.errors import PromptError
from promptkit.models import registry
from promptkit.models._presets import PRESETS
from promptkit.models._vendor import VendorChatModel
from promptkit.models.anthropic import AnthropicChatModel
from promptkit.models.gemini import GeminiChatModel
from promptkit.models.local import LlamaCppChatModel
from promptkit.models.openai import OpenAIChatModel, OpenAIResponsesChatModel
from promptkit.models.registry import ModelSettings, chat_model, providers, register
from promptkit.options import ChatOptions
from promptkit.prompt import Prompt
from promptkit.testing import EchoChatModel
from tests.models.conftest import Server
from tests.models.scripted_server import ScriptedServer, http
from tests.models.wires import TEXT, WIRES

KEYED = [name for name, preset in PRESETS.items() if preset.key_variable]
KEYLESS = [name for name, preset in PRESETS.items() if not preset.key_variable]


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as scripted:
        scripted.answer(http(200, WIRES["openai"].answer(TEXT)))
        yield scripted


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai:m", OpenAIChatModel),
        ("openai-responses:m", OpenAIResponsesChatModel),
        ("anthropic:m", AnthropicChatModel),
        ("gemini:m", GeminiChatModel),
        ("ollama:m", OpenAIChatModel),
    ],
)
def test_a_name_makes_a_model(name: str, kind: type) -> None:
    made = chat_model(name, options=ChatOptions(temperature=0.5), timeout=5, max_retries=1)

    assert type(made) is kind
    assert isinstance(made, VendorChatModel)
    assert made.options == ChatOptions(model="m", temperature=0.5)


def test_local_is_a_model_by_itself() -> None:
    assert type(chat_model("local")) is LlamaCppChatModel
    with pytest.raises(PromptError, match="a local model has no timeout"):
        chat_model("local", timeout=3)


def test_a_models_name_may_hold_colons() -> None:
    assert chat_model("ollama:qwen3:8b").options.model == "qwen3:8b"
    assert chat_model("qwen3:8b", provider="ollama").options.model == "qwen3:8b"
    assert chat_model("openai").options.model is None


@pytest.mark.parametrize("name", KEYED)
def test_a_server_with_a_key_asks_for_its_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = PRESETS[name].key_variable
    assert variable
    monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-vendor")
    with pytest.raises(PromptError, match=f"no key for '{name}': set the variable {variable}"):
        chat_model(f"{name}:m")

    monkeypatch.setenv(variable, "sk-right")
    client = chat_model(f"{name}:m")._clients.sync()

    assert client.api_key == "sk-right"
    assert str(client.base_url).rstrip("/") == PRESETS[name].base_url
    client.close()


@pytest.mark.parametrize("name", KEYLESS)
def test_a_server_without_a_key_gets_none_of_another_vendor(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-vendor")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere")
    client = chat_model(f"{name}:m")._clients.sync()

    assert client.api_key == "no-key"
    assert str(client.base_url).rstrip("/") == PRESETS[name].base_url
    client.close()


@pytest.mark.parametrize("name", ["ollama", "vllm"])
def test_a_variable_may_say_where_a_server_is(
    name: str, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)

    with chat_model(f"{name}:m") as made:
        assert made.call(Prompt("Hi", ChatOptions(max_tokens=4))).text == TEXT
    assert server.requests[-1].body["max_tokens"] == 4


def test_arguments_win_over_the_preset(server: ScriptedServer) -> None:
    with chat_model("deepseek-chat", provider="deepseek", base_url=server.url, api_key="sk-given") as made:
        assert made.call(Prompt("Hi")).text == TEXT

    assert server.requests[-1].headers["authorization"] == "Bearer sk-given"
    assert server.requests[-1].body["model"] == "deepseek-chat"


def test_one_string_switches_models(llama_server: Server) -> None:
    prompt = Prompt("What is the capital of France?", ChatOptions(temperature=0, max_tokens=12, top_k=1))
    settings: dict[str, Any] = {"base_url": f"{llama_server.url}/v1", "api_key": llama_server.key}

    with (
        chat_model("llamacpp:smollm2", **settings) as first,
        chat_model("anthropic:smollm2", **settings | {"base_url": llama_server.url}) as second,
    ):
        assert second.call(prompt).text == first.call(prompt).text != ""


def test_an_own_provider_gets_the_settings() -> None:
    name = f"own-{uuid4()}"
    seen: list[ModelSettings] = []

    def make(settings: ModelSettings) -> EchoChatModel:
        seen.append(settings)
        return EchoChatModel()

    register(name, make)

    assert chat_model(f"{name}:m:1", timeout=7, api_key="sk-secret-1").call(Prompt("Hi")).text == "Hi"
    assert seen == [ModelSettings("m:1", timeout=7, api_key="sk-secret-1")]
    assert "secret" not in repr(seen)
    assert repr(ModelSettings()) == "ModelSettings(None, base_url=None, api_key=None)"
    assert name in providers()
    with pytest.raises(PromptError, match="already: choose another name, or say replace=True"):
        register(name, make)
    register(name, lambda settings: EchoChatModel(), replace=True)
    chat_model(name)
    assert len(seen) == 1


def test_of_many_threads_one_registers_a_name() -> None:
    name = f"own-{uuid4()}"

    def attempt(_: int) -> bool:
        try:
            register(name, lambda settings: EchoChatModel())
        except PromptError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(64))) == 1


@pytest.mark.parametrize("name", ["", " x", "a:b", "a\nb", 7, None])
def test_a_provider_needs_a_name(name: Any) -> None:
    with pytest.raises(PromptError, match="a provider's name must be printable text without a colon"):
        register(name, lambda settings: EchoChatModel())


def test_a_provider_needs_a_factory() -> None:
    with pytest.raises(PromptError, match="the factory of 'x1' must be a function"):
        register("x1", EchoChatModel())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("opnai:gpt-5",), r"'opnai' is no provider of models \(did you mean 'openai'\?\): write .* anthropic, "),
        (("gpt-5",), "'gpt-5' is no provider of models: write 'provider:model'"),
        (("",), "'' is no provider"),
        ((":m",), "'' is no provider"),
        ((7,), "a model's name must be a text like 'openai:gpt-5-mini', not 7"),
    ],
)
def test_unknown_names_list_the_known_ones(arguments: tuple[Any], message: str) -> None:
    with pytest.raises(PromptError, match=message):
        chat_model(*arguments)
    with pytest.raises(PromptError, match="must be a text"):
        chat_model("m", provider=7)  # type: ignore[arg-type]


def test_no_sdk_is_imported_before_the_first_call() -> None:
    program = (
        "import sys; from promptkit.models.registry import chat_model\n"
        f"for name in {['openai', 'openai-responses', 'anthropic', 'gemini', *KEYLESS]}: chat_model(name + ':m')\n"
        "print({'openai', 'anthropic', 'google.genai', 'httpx', 'httpx2', 'xllamacpp', 'asyncio'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.strip() == "set()", done.stderr


PROVED = {
    "anthropic": "llama.cpp's server",
    "gemini": "litellm's proxy over llama.cpp",
    "llamacpp": "llama.cpp's server",
    "local": "llama.cpp in the process",
    "openai": "llama.cpp's server",
    "openai-responses": "llama.cpp's server",
}
"""What the tests speak to; of all others only the format is proved."""

SDKS = {
    "anthropic": ("anthropic", "`ANTHROPIC_API_KEY`"),
    "gemini": ("gemini", "`GEMINI_API_KEY`"),
    "local": ("local", "none"),
    "openai": ("openai", "`OPENAI_API_KEY`"),
    "openai-responses": ("openai", "`OPENAI_API_KEY`"),
}
"""The extra and the variable of those that are no presets; test_vendor.py proves the variables."""


def provider_table() -> str:
    lines = ["| provider | extra | key | place and key read in | proved on |", "|---|---|---|---|---|"]
    for name in sorted(SDKS | PRESETS):
        proved = PROVED.get(name, "format only")
        if name in SDKS:
            extra, key = SDKS[name]
            source = "its SDK" if name != "local" else "no server"
        else:
            preset = PRESETS[name]
            extra, key, source = "openai", f"`{preset.key_variable}`" if preset.key_variable else "none", preset.source
        lines.append(f"| `{name}` | `{extra}` | {key} | {source} | {proved} |")
    return "\n".join(lines) + "\n"


def test_the_readme_lists_the_providers(root: Path) -> None:
    program = "from promptkit.models.registry import providers; print(*providers())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.split() == sorted(SDKS | PRESETS)
    assert f"\n{provider_table()}\n" in (root / "README.md").read_text("utf-8"), provider_table()
    assert f" {len(SDKS | PRESETS)} providers" in (root / "CHANGELOG.md").read_text("utf-8")


def test_each_preset_says_where_it_was_read() -> None:
    assert all(preset.source for preset in PRESETS.values())
    assert not registry._FACTORIES.keys() - set(providers())
