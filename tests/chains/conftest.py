from parallel.runs import runs

__all__ = ["runs"]
