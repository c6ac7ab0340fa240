"""From measured times to models of them: what lies on a critical path, what it costs, and how far that holds.

`terms` counts what a schedule does, `forms` say what each of it costs, `model` is what was found and predicts.
"""
