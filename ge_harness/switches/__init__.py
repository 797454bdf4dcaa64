"""Compiler switches: parse, check, explain, write."""
