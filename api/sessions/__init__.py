"""The session file: its model, its codec, its store and the catalog derived from it."""
