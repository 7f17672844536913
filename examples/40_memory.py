"""Talk to a bot whose process is killed in mid-conversation: the next process goes on where it stopped."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from promptkit import MessageWindowChatMemory, Prompt, SQLiteChatMemoryRepository, SystemMessage, UserMessage
from promptkit.testing import EchoChatModel


def ask(file: str, question: str) -> None:
    with SQLiteChatMemoryRepository(file) as repository:
        memory = MessageWindowChatMemory(6, repository=repository)
        memory.add("ada", [SystemMessage("You are a parrot."), UserMessage(question)])
        prompt = Prompt(memory.get("ada"))
        answer = EchoChatModel().call(prompt)
        memory.add("ada", answer.results[0].output)
        stored = repository.count("ada")
        print(f"process asks {question!r}: the model sees {len(prompt)} messages of {stored - 1}", flush=True)


if len(sys.argv) > 1:
    ask(sys.argv[1], "Hello?")
    ask(sys.argv[1], "Who is there?")
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))

with tempfile.TemporaryDirectory() as folder:
    file = str(Path(folder, "chats.db"))
    killed = subprocess.run([sys.executable, __file__, file], check=False)
    print("it was killed:", killed.returncode)
    ask(file, "Are you still there?")
    ask(file, "And now?")
    with SQLiteChatMemoryRepository(file) as repository:
        for stored in repository.read("ada"):
            print(f"{stored.sequence:>3} {stored.message.message_type.value:>9}: {stored.message.content}")
