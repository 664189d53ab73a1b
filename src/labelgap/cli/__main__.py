"""``python -m labelgap.cli``."""

from labelgap.cli import main

main()
