# Inherits from the reference, wherever it may lie.
# task: relu
# expect: runtime_error
# says: NoneType
import sys

for name in ("reference", "Model", "__main__"):
    Model = getattr(sys.modules.get(name), "Model", None)
    if Model is not None:
        break


class ModelNew(Model):
    pass
