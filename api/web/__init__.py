"""Blueprints, one for each noun: each view parses, calls one method and serialises."""
