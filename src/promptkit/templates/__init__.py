"""Write prompts as templates: one role each, typed as classes, or a whole conversation."""
