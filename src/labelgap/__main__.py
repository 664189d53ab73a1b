"""``python -m labelgap``, the same as the command ``labelgap``."""

from labelgap.cli import main

main()
