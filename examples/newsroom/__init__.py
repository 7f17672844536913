"""Be an application that keeps its prompts in a package of its own: classes in modules, long text in files."""
