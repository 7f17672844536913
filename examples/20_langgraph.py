"""Let LangGraph run a conversation with promptkit's template and model; each run goes on where the last one stopped.

Run ``python examples/20_langgraph.py``, and then ``python examples/20_langgraph.py "And of Italy?"``.
"""

# LangGraph's own types are not complete.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
import sys

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from promptkit import ChatPromptTemplate, MessagesPlaceholder
from promptkit.adapters.langchain import as_langchain_model, as_runnable
from promptkit.models.local import LlamaCppChatModel

question = sys.argv[1] if len(sys.argv) > 1 else "What is the capital of France?"
template = ChatPromptTemplate([("system", "You are {persona}."), MessagesPlaceholder("history")])

with LlamaCppChatModel() as chat_model, SqliteSaver.from_conn_string("graph.db") as saver:
    chain = as_runnable(template) | as_langchain_model(chat_model).bind(temperature=0, max_tokens=24)

    def answer(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [chain.invoke({"persona": "a helpful assistant", "history": state["messages"]})]}

    graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile(checkpointer=saver)
    thread = RunnableConfig(configurable={"thread_id": "ada"})
    for message in graph.invoke({"messages": [HumanMessage(question)]}, thread)["messages"]:
        print(f"{message.type:>5}: {message.text}")
