"""Backends that answer a turn, one file each."""
