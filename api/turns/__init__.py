"""A turn: what one user message sets off, from its start to its stored end."""
