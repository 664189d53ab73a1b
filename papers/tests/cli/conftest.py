"""The fixtures of the command line."""

from cli.runner import fails, run, workplace

__all__ = ["fails", "run", "workplace"]
