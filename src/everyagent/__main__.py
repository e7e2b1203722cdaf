"""`python -m everyagent` is `everyagent`."""

from everyagent.cli.main import main

main()
