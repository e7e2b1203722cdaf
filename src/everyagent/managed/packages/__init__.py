"""Packages of environments, installed once into folders that sessions share."""
