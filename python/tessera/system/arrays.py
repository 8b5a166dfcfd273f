"""The types of the arrays that a system is made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.int32]
IdArray = NDArray[np.int64]
