"""Masks secrets in everything that is stored or printed: finds them in the usual encodings, replaces them by name."""
