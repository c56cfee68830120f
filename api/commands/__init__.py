"""Slash commands, one file each, and their registry."""
