"""Plans of runs: execute, resume, store, judge."""
