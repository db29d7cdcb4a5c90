"""The command line: `kspec COMMAND …`.

Each command is a module of its own, imported only when it is called. The options and the output
that commands share are in `options` and `output`.
"""
