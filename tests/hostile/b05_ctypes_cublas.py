# cuBLAS by its handle.
# task: matmul
# expect: rejected
# rule: native_code
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        cublas = ctypes.CDLL("libcublas.so.12")
        c = torch.empty(64, 64, device=a.device)
        cublas.cublasSgemm_v2(a.data_ptr(), b.data_ptr(), c.data_ptr())
        return c
