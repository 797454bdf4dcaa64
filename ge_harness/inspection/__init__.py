"""What the dumps of a compile say: which passes acted, what shows it, what it means.

A group of its own between `catalogue` and `backends`: it joins what the readers in
`dumps` find with what the catalogue knows. `gather` reads a path, `active` names
passes, `verdict` judges them, `document` makes the JSON document, `against` compares
two, `for_run` gives a backend the active passes of its own dumps.
"""
