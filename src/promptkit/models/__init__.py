"""Answer prompts: chat models, each a wire format and a vendor's engine or SDK, imported when it is used."""
