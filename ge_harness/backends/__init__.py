"""What compiles and runs a case."""
