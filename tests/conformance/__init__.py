"""Peers' test databases run through thalweg. Needs torch; lives apart from the project's own tests.

The data flows: `samples` (what torch's databases hold) -> `convert` and `names` (the same call for thalweg) ->
`checks`, `grads`, `errors`, `modules`, `optimizers` (compare) -> `engine` (one op, all dtypes) -> `report` (workers,
JSON, Markdown) and the `test_*.py` files (pytest).
"""
