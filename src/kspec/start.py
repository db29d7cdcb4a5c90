"""The entry point of the scripts: the errors that occur before a command can be imported.

Ctrl-C during the imports is reported in one line, without a traceback. So is an unsupported
platform.
"""

from __future__ import annotations

import sys

EXIT_INTERRUPTED, EXIT_CANNOT_START = 130, 151


def kspec() -> None:
    """`kspec`."""
    if sys.platform == "win32":
        print(
            "kspec: Windows is not supported; kspec runs on Linux and macOS, and in WSL",
            file=sys.stderr,
        )
        sys.exit(EXIT_CANNOT_START)
    try:
        from kspec.checkers.cli.main import main
    except KeyboardInterrupt:
        print("kspec: interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    main()
