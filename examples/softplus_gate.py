"""A plain function: a numerically safe softplus gates the input. Convert with --function softplus_gate."""
import torch


def softplus_gate(x, bias, beta=1.5):
    z = beta * (x + bias)
    softplus = torch.clamp(z, min=0) + torch.log(1 + torch.exp(-torch.abs(z)))
    return x * torch.tanh(softplus / beta)


def get_inputs():
    return [torch.randn(512, 1000), torch.randn(1000)]
