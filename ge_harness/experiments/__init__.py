"""The experiments: each puts one claim to the test and defends its verdict."""
