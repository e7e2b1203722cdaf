"""The mock agent's program: a separate process, stdlib only, so that it starts fast."""
