"""The fixtures of the command line."""

from cli.runner import fails, items, model, run, workplace

__all__ = ["fails", "items", "model", "run", "workplace"]
