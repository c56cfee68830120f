"""Tests, in rooms that mirror `api`."""
