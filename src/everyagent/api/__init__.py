"""The HTTP face: auth, problems, streaming, OpenAPI, and the routes of each API."""
