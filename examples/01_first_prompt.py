"""Make a prompt of a template, and look at it without any model."""

from promptkit import ChatOptions, PromptTemplate

joke = PromptTemplate("Tell me a {adjective} joke about {topic}.")
prompt = joke.create({"adjective": "short", "topic": "rain"}, options=ChatOptions(temperature=0))

print("variables:", ", ".join(joke.variables))
print("text:     ", prompt.text)
print("options:  ", prompt.options)
