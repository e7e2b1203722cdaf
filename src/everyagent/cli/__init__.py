"""The command line, one file per command. Results go to stdout, messages to stderr."""
