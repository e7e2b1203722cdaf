"""What is fast, what is small, and by how much. `make bench`, or `python -m bench --help`."""
