"""Makes `python -m tessera` run the command line."""

from tessera.cli import main

if __name__ == "__main__":
    main()
