"""The folder in which a managed session works: its files, repositories and skills."""
