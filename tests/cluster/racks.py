"""A small cluster that tests share."""


def two_racks(scale: int) -> str:
    """The text of a spec: two racks of two hosts with two slots each, rates divided by `scale`."""
    return f"""
about = "two racks of two"
scale = {scale}
slots = 2
[[switch]]
name = "left"
nodes = "n[0-1]"
rate = "1gbit"
[[switch]]
name = "right"
nodes = "n[2-3]"
rate = "1gbit"
[[link]]
ends = ["left", "right"]
rate = "200mbit"
"""
