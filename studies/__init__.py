"""The studies of the paper: data, then ink. ``python -m studies fig2 [--quick] [--out DIR]``

Each study has a CONFIG, `run(config) -> result`, which writes JSON, and `draw(result) -> figure`,
which only reads it. ``--quick`` shrinks CONFIG and nothing else.
"""
