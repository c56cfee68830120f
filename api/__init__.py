"""Talaria: a local, single-user web chat for LLM agents."""

__version__ = "0.1.0"
