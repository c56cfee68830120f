"""Markdown to safe HTML, whole and while it grows."""
