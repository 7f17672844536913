"""Ask the embedded model, token by token."""

from promptkit import ChatOptions, ChatPromptTemplate
from promptkit.models.local import LlamaCppChatModel

chat = ChatPromptTemplate([("system", "You are a helpful assistant."), ("user", "What is the capital of {country}?")])
options = ChatOptions(temperature=0, max_tokens=32)

with LlamaCppChatModel() as chat_model:
    prompt = chat.create({"country": "France"}, options=options)
    print("tokens in:", chat_model.count_tokens(prompt))
    for chunk in chat_model.stream(prompt):
        print(chunk.text, end="", flush=True)
    print()
