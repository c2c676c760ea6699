# A graph is captured once and replayed on the pointers of the capture.
# task: relu
# expect: rejected
# rule: cuda_graph
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.relu(x)
        self.graph.replay()
        return self.y
