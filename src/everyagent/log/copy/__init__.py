"""Copies a log from one database to another, with everything that is stored beside it: `everyagent log copy`."""
