"""Be the support desk of a shop: templates as classes, tools, a memory that survives restarts, typed tickets."""
