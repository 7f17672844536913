"""Hold what is data of servers that speak Chat Completions: where they are, and which variables say key and place."""

from __future__ import annotations

from typing import NamedTuple

from promptkit.adapters.openai import OPENAI, Dialect

__all__ = ["PRESETS", "Preset"]

_KEYS = {**OPENAI.option_keys, "max_tokens": "max_tokens"}

COMPATIBLE = Dialect("openai-compatible", _KEYS)
"""Chat Completions as most servers took it over, with the older name of the limit."""

SAMPLING = Dialect("openai-compatible", {**_KEYS, "top_k": "top_k"})
"""The same of servers that run open weights and take ``top_k`` too."""


class Preset(NamedTuple):
    """Say where a server is and how it is spoken to.

    Args:
        base_url: Where it is, unless ``url_variable`` says otherwise.
        key_variable: The environment variable with the key; ``None``: it asks for none.
        source: Where the two were read, in November 2026.
        dialect: How it spells the format.
        url_variable: The environment variable that says where it is.
    """

    base_url: str
    key_variable: str | None
    source: str
    dialect: Dialect = COMPATIBLE
    url_variable: str | None = None


_PYDANTIC = "pydantic-ai-slim 2.68.0"
_LITELLM = "litellm 1.110.2"
_OWN = "the server's own default"

PRESETS = {
    "cerebras": Preset("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", _PYDANTIC),
    "dashscope": Preset("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", _PYDANTIC),
    "deepseek": Preset("https://api.deepseek.com", "DEEPSEEK_API_KEY", _PYDANTIC),
    "fireworks": Preset("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", _PYDANTIC),
    "github": Preset("https://models.github.ai/inference", "GITHUB_API_KEY", _PYDANTIC),
    "groq": Preset("https://api.groq.com/openai/v1", "GROQ_API_KEY", _LITELLM),
    "llamacpp": Preset("http://localhost:8080/v1", None, _OWN, SAMPLING),
    "lmstudio": Preset("http://localhost:1234/v1", None, _OWN),
    "mistral": Preset("https://api.mistral.ai/v1", "MISTRAL_API_KEY", _LITELLM),
    "moonshot": Preset("https://api.moonshot.ai/v1", "MOONSHOTAI_API_KEY", _PYDANTIC),
    "nebius": Preset("https://api.studio.nebius.com/v1", "NEBIUS_API_KEY", _PYDANTIC),
    "nvidia": Preset("https://integrate.api.nvidia.com/v1", "NVIDIA_NIM_API_KEY", _LITELLM),
    "ollama": Preset("http://localhost:11434/v1", None, f"{_OWN}; {_PYDANTIC}", url_variable="OLLAMA_BASE_URL"),
    "openrouter": Preset("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", _PYDANTIC),
    "ovhcloud": Preset("https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "OVHCLOUD_API_KEY", _PYDANTIC),
    "perplexity": Preset("https://api.perplexity.ai", "PERPLEXITY_API_KEY", _LITELLM),
    "sambanova": Preset("https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY", _PYDANTIC),
    "together": Preset("https://api.together.xyz/v1", "TOGETHER_API_KEY", _PYDANTIC),
    "vercel": Preset("https://ai-gateway.vercel.sh/v1", "VERCEL_AI_GATEWAY_API_KEY", _PYDANTIC),
    "vllm": Preset("http://localhost:8000/v1", None, f"{_OWN}; {_PYDANTIC}", SAMPLING, "VLLM_BASE_URL"),
    "xai": Preset("https://api.x.ai/v1", "XAI_API_KEY", _PYDANTIC),
    "zai": Preset("https://api.z.ai/api/paas/v4", "ZAI_API_KEY", _PYDANTIC),
}
"""The servers by name; only ``llamacpp`` was spoken to in tests."""
