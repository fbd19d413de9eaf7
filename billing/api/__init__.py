"""What a key may read about money, on the OpenAI-compatible host: errors in OpenAI's shape."""
