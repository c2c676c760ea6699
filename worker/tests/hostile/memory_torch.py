# expect: runtime_error
# says: can't allocate memory
import torch

torch.zeros(10 << 40)
