"""Sample kernels, by theme. Importing this package fills cases.CASES."""
from . import (atomics, casts, control, descriptors, dots, elementwise, integers, memory, misc, programs,  # noqa: F401
               reductions, shapes)
from .cases import CASES  # noqa: F401
