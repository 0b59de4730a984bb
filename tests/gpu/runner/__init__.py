"""The runner of a GPU bundle: `main` first."""
