"""Test subgraphs, one a file, and what it takes to build one into a GraphDef."""
