"""GE's graph passes that the model has, one family a file, run by `pipeline`."""
