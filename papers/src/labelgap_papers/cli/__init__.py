"""``labelgap bench``: an entry point that the command line of labelgap finds."""
