# Ends with exit code 0 before anything is checked.
# task: relu
# expect: rejected
# rule: exit
import os

import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os._exit(0)
