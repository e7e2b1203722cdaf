"""For users, too: the order rules, conformance suites for logs and adapters."""
