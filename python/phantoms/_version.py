"""The one version of jar and wheel."""

__version__ = "0.1.0"
