"""Let the embedded model call a tool, and read a typed record out of its answer."""

from attrs import frozen

from promptkit import ChatOptions, Prompt, SystemMessage, UserMessage
from promptkit.converters import TypedOutputConverter
from promptkit.models.local import LlamaCppChatModel
from promptkit.tools import ToolCallingManager, tool


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"It is 3 degrees in {city}, and it rains."


@frozen
class Person:
    name: str
    age: int


manager = ToolCallingManager([weather])
converter = TypedOutputConverter(Person)

with LlamaCppChatModel() as chat_model:
    question = Prompt("What is the weather in Oslo?", ChatOptions(tools=[weather], tool_choice="required"))
    messages = manager.execute(question, chat_model.call(question)).messages
    for message in (*question, *messages):
        print(message)

    options = ChatOptions(output_schema=converter.json_schema, max_tokens=60)
    prompt = Prompt([SystemMessage(converter.format), UserMessage("Alice is 30 years old.")], options)
    print(converter.convert(chat_model.call(prompt).text))
