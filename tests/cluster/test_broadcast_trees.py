"""Reproduces Figure 1 and Table 1 of Lowekamp and Beguelin (1995), §4: how long a broadcast takes along a spanning tree
of least cost and along a binary tree, where a host sends to its children one after another and each message takes the
cost of its link.

The text gives the times, not the costs. Among all pairings of the hosts a to f and all small whole costs, those below
give all four times for any order in which a host sends to its children. They are plausible, too: three subnets in a
line, 1 inside a subnet and 2 more for each of the two bridges crossed.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

SUBNET = np.array([0, 1, 2, 1, 0, 2])  # of the hosts a to f
COSTS = 1 + 2 * np.abs(SUBNET[:, None] - SUBNET)


def spanning_tree(root: int) -> dict[int, list[int]]:
    """Returns the children of each host in the spanning tree of least cost."""
    _, parents = breadth_first_order(minimum_spanning_tree(COSTS), root, directed=False)
    return {host: np.flatnonzero(parents == host).tolist() for host in range(len(COSTS))}


def binary_tree(root: int) -> dict[int, list[int]]:
    """Returns the same of the binary tree over the hosts in their order from the root on: numbered from 1, host i sends
    to 2i and 2i + 1."""
    n = len(COSTS)
    return {(root + i - 1) % n: [(root + j - 1) % n for j in (2 * i, 2 * i + 1) if j <= n] for i in range(1, n + 1)}


def completion_time(children: dict[int, list[int]], host: int, time: int = 0) -> int:
    """Returns when the last host below `host`, which has the message at `time`, has it."""
    last = time
    for child in children[host]:
        time += COSTS[host, child]
        last = max(last, completion_time(children, child, time))
    return last


@pytest.mark.parametrize(("root", "spanning", "binary"), [("a", 7, 9), ("d", 8, 7)])
def test_table_1(root: str, spanning: int, binary: int) -> None:
    host = "abcdef".index(root)
    assert completion_time(spanning_tree(host), host) == spanning
    assert completion_time(binary_tree(host), host) == binary
