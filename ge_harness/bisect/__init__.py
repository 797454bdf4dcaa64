"""Search for the smallest set of switches that restores agreement."""
