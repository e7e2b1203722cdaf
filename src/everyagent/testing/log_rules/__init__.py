"""What every log must do, rule by rule; `log_conformance.py` gathers them."""
