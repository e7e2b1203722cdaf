"""The command line: one file a command. Stdout is data, stderr is talk."""
