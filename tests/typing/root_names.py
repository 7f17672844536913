"""Name things from the root: types come through, a misspelt name is an error."""

from __future__ import annotations

from typing import assert_type

import promptkit
from promptkit import ChatOptions, Message, Prompt, SystemMessage, UserMessage

prompt = Prompt([SystemMessage("Be brief."), UserMessage("Why?")], options=ChatOptions(temperature=0.2))
assert_type(prompt.messages, tuple[Message, ...])
assert_type(prompt.options.temperature, float | None)

Prompt(3)  # expect: mypy=arg-type pyright=reportArgumentType
Prompt("Why?", option=None)  # expect: mypy=call-arg pyright=reportCallIssue
promptkit.Promt("Why?")  # expect: mypy=attr-defined pyright=reportAttributeAccessIssue
prompt.messages = ()  # expect: mypy=misc pyright=reportAttributeAccessIssue
