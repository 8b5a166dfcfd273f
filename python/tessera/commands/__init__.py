"""The subcommands of `tessera`, one a file; `tessera.cli` imports each when it is called."""
