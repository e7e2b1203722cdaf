"""A cluster on one machine, with its own servers, to try it: `everyagent dev-cluster`. Tests use the servers, too."""
