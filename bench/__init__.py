"""Benchmarks of speed and memory. Run `make bench`, or `python -m bench --help`."""
