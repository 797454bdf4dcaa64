"""Records in, text out: terminal, Markdown and HTML."""
