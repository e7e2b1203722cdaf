"""Packages of managed environments: installed once into a folder that sessions share."""
