"""Emulates a long cable: carries frames between two TAP devices with a delay. `relay.py DEVICE DEVICE SECONDS`."""

import contextlib
import fcntl
import os
import select
import struct
import sys
import time
from collections import deque

TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x1002  # IFF_TAP | IFF_NO_PI


def open_tap(name: str) -> int:
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), TAP_WITHOUT_HEADER))
    return tap


def relay(a: str, b: str, delay: float) -> None:
    taps = [open_tap(a), open_tap(b)]
    under_way: deque[tuple[float, int, bytes]] = deque()  # time of arrival, destination, frame
    while True:
        wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        for tap in select.select(taps, [], [], wait)[0]:
            under_way.append((time.monotonic() + delay, taps[taps[0] == tap], os.read(tap, 65536)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, to, frame = under_way.popleft()
            with contextlib.suppress(OSError):  # the device is down, and the frame is lost as on a real wire
                os.write(to, frame)


if __name__ == "__main__":
    relay(sys.argv[1], sys.argv[2], float(sys.argv[3]))
