"""Models behind a server on this machine that speaks OpenAI's protocol (llama-server, vLLM, LM Studio, Ollama)."""
