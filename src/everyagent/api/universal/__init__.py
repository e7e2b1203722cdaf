"""The routes of the universal API (`/v1`), one file a concept."""
