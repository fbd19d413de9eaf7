"""What a developer reads about the API; so far its machine-readable description and two readers of it."""
