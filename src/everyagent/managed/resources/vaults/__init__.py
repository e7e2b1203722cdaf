"""Vaults and their credentials."""
