"""The rules that every log must keep, by topic; `log_conformance.py` collects them."""
