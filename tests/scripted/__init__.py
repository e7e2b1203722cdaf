"""Scripted servers on loopback in place of the models' APIs and of Amp's backend, for tests with real agents."""
