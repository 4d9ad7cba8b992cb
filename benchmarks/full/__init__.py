"""Every promise about speed beside every peer: ``python -m benchmarks.full``, ``--quick`` in two minutes.

`table` says what is measured and what is promised, `rows` how peers are called, `processes` keeps one for each peer,
`comparison` checks and times a row, `growth` measures what grows, `report` writes Markdown and pictures.
"""
