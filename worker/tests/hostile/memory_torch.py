# expect: runtime_error can't allocate memory
import torch

torch.zeros(10 << 40)
