"""Scripted model servers on loopback, and the scripted Amp backend."""
