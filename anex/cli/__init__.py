"""The command `anex`: jobs, chats and spending from a terminal, over HTTP alone."""
