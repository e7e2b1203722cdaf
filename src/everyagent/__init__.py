"""Every coding agent behind one API, with one durable event log."""

__version__ = "0.1.0"
