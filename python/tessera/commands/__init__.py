"""The subcommands of `tessera`, one in each file; `tessera.cli` imports each when it is called."""
