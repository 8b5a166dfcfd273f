"""`python -m bench.convert`: what becomes of inputs of other programs."""

from bench.convert.converters import converters

if __name__ == "__main__":
    converters()
