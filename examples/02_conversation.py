"""Make a conversation: a system template, a history, a question; braces in what people say stay as they are."""

from promptkit import AssistantMessage, ChatPromptTemplate, MessagesPlaceholder, UserMessage
from promptkit.testing import EchoChatModel

chat = ChatPromptTemplate(
    [
        ("system", "You are {name}, and you answer like a {voice}."),
        MessagesPlaceholder("history", optional=True, last=10),
        ("user", "{question}"),
    ]
)
pirate = chat.partial({"name": "Bob", "voice": "pirate"})
history = [UserMessage("Ahoy!"), AssistantMessage("Ahoy, matey.")]

prompt = pirate.create({"history": history, "question": "What does {x} mean?"})
for message in prompt:
    print(f"{message.message_type.value:>9}: {message.content}")
print("   answer:", EchoChatModel().call(prompt).text)
