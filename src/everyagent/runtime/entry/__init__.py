"""The program that puts another program behind a wall. Imports little, so that it starts in milliseconds."""
