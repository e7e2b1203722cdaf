"""The mock agent: a program that does what the prompt tells it to, and the adapter in front of it."""
