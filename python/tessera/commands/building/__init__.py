"""What the commands of `tessera build` share."""
