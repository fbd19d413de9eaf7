"""Files of the OpenAI-compatible host on their way in: every line is checked in a child while it is stored."""
