"""Runs the CLI with `python -m everyagent`."""

from everyagent.cli.main import main

main()
