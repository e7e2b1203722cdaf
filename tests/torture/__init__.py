"""Fault injection: `make torture` runs all rows in full size, `make test` a small form of each."""
