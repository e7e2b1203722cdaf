"""Adapters: one folder an agent, each translating between its native language and the universal one."""
