"""One module per operator: its node, its traits and its async function over rows."""
