"""Child processes in which compilers run."""
