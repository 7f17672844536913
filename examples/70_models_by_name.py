"""Switch models by one string: the same program speaks to an embedded model, to a vendor, or to a server of your own.

Set MODEL to "openai:gpt-5-mini", "anthropic:claude-haiku-4-5", "gemini:gemini-2.5-flash", "deepseek:deepseek-chat" or
"ollama:qwen3:8b", with the provider's key in its own variable. Nothing else changes.
"""

from __future__ import annotations

import os

from promptkit import ChatOptions, ChatPromptTemplate, ModelError, chat_model
from promptkit.models.registry import register
from promptkit.testing import EchoChatModel

register("parrot", lambda _: EchoChatModel())

chat = ChatPromptTemplate([("system", "You are a helpful assistant."), ("user", "What is the capital of {country}?")])
question = chat.create({"country": "France"}, options=ChatOptions(temperature=0, max_tokens=20))

for name in (os.environ.get("MODEL", "local"), "parrot"):
    model = chat_model(name)
    try:
        print(f"{name}: {model.call(question).text}")
    except ModelError as error:
        print(f"{name} failed, and asking again {'may' if error.retryable else 'will not'} help: {error}")

try:
    chat_model("antropic:claude-haiku-4-5")
except ValueError as error:
    print(error)
