"""The mock agent: a program that follows directives in the prompt, and its adapter."""
