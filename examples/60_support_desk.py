"""Ask the support desk from the command line; it remembers earlier runs: 60_support_desk.py [CUSTOMER [MESSAGE]]"""

import sys
from pathlib import Path

from support_desk.desk import SupportDesk

from promptkit.models.local import LlamaCppChatModel

customer = sys.argv[1] if len(sys.argv) > 1 else "Ada"
message = sys.argv[2] if len(sys.argv) > 2 else "Where is my order A17?"

with LlamaCppChatModel() as chat_model, SupportDesk(chat_model, Path("support_desk.db")) as desk:
    print(f"{customer} (known by {desk.remembered(customer)} messages): {message}")
    for piece in desk.answer(customer, message):
        print(piece, end="", flush=True)
    print(f"\n{desk.ticket(message)}")
