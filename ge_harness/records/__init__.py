"""Frozen dataclasses that every part of ge_harness hands to the next.

One family a file. A record has no I/O and no method past a one-line property; arrays
travel as paths. `serialize` is the only code that turns records into JSON and back.
"""
