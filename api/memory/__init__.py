"""What is remembered of conversations: the providers and what they have in common."""
