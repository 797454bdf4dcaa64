"""Explained bits: hypotheses under which the interpreter reproduces compiled bits."""
