"""Names of DocETL that Redwell reads otherwise: without effect, under a name of its own, or not at all."""

from __future__ import annotations

NO_EFFECT_KEYS = frozenset(
    {
        "agent_model", "api_base", "azure_deployment", "bypass_cache", "cascade", "clustering_method",
        "concurrent_thread_count", "default_bypass_cache", "default_embedding_api_base", "default_lm_api_base",
        "embedding_api_base", "embedding_batch_size", "embedding_model", "enable_observability",
        "fallback_embedding_models", "fallback_models", "flush_partial_result", "flush_partial_results",
        "interactive_ui", "intermediate_dir", "litellm_completion_kwargs", "llm_api_keys", "manually_fix_errors",
        "max_retries_per_timeout", "max_threads", "num_retries_on_rate_limit", "optimize", "optimizer_config",
        "optimizer_judge_agent_model", "optimizer_model", "optimizer_rewrite_agent_model", "persist_intermediates",
        "plan_rewrites", "rate_limits", "recursively_optimize", "sample_size", "source", "synthesize_resolve",
        "verbose",
    }
)  # fmt: skip
"""Keys of DocETL that steer cloud services, its optimizer or its console; here they change no result."""

NO_EFFECT_INSIDE: dict[str, frozenset[str]] = {"method_kwargs": frozenset(), "output": frozenset({"mode"})}
"""Sections of an operator where such keys stand too, with those that have no effect only there."""

NO_EFFECT_IN_OPERATORS = frozenset({"batch_size", "model"})
"""Keys of an operator that have no effect where its type has no key of that name."""

SAMPLING_KWARGS = {"max_tokens": "max_tokens", "max_completion_tokens": "max_tokens", "temperature": "temperature"}
"""What of litellm_completion_kwargs is honoured, and the operator's own key for it."""

NETWORK_OPERATORS = frozenset({"web_fetch", "web_search"})
