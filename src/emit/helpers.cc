#include "emit/helpers.h"

namespace tritogen {

// Kernels are compiled for addresses that are multiples of 16; what else PyTorch hands out is rare, and the
// original's. So are tensors without an address: subclasses that claim a shape, as quantised weights are.
const char* const kGuards = R"(

class _Meta(NamedTuple):
    """What a tensor must be for the kernels to be called with it."""

    shape: tuple
    strides: tuple
    dtype: torch.dtype


def _fits(value, expected):
    """True when value is what the kernels were verified with: tensors on the GPU by shape, strides, dtype and alignment."""
    if isinstance(expected, _Meta):
        return (
            isinstance(value, torch.Tensor)
            and value.is_cuda
            and value.shape == expected.shape
            and value.stride() == expected.strides
            and value.dtype is expected.dtype
            and not (value.requires_grad and torch.is_grad_enabled())
            and (torch.compiler.is_compiling() or (value.data_ptr() % 16 == 0 and value.data_ptr() != 0))
        )
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(expected)
            and all(_fits(one, other) for one, other in zip(value, expected))
        )
    return type(value) is type(expected) and value == expected

)";

// What a module computes hangs on what its constructor was given, and on what was done to it since: layers
// that were put in the place of others (adapters, quantised ones), hooks (pruning, spectral norms), layers
// that were frozen one by one.
const char* const kMakeGuards = R"(

def _alike(value, expected):
    """True when an argument of the constructor is the one that the kernels were made for; tensors by shape and dtype."""
    if isinstance(expected, _Meta):
        return isinstance(value, torch.Tensor) and value.shape == expected.shape and value.dtype is expected.dtype
    if isinstance(expected, (list, tuple)):
        return isinstance(value, (list, tuple)) and len(value) == len(expected) and all(map(_alike, value, expected))
    if isinstance(expected, dict):
        return value.keys() == expected.keys() and all(_alike(value[name], expected[name]) for name in expected)
    return value is expected or (type(value) is type(expected) and value == expected)


def _hooks(part):
    return len(part._forward_pre_hooks) + len(part._forward_hooks)


def _parts(module):
    """Everything in a module: its parts, what each is made of, how many hooks it has, its mode."""
    return [(part, dict(part._modules), _hooks(part), part.training) for part in module.modules()]


def _unchanged(module, mode_matters):
    """False when a part was replaced or got a hook since, or, where that matters, was put into another mode alone.

    Hooks of the module itself run around its call, as ever.
    """
    for part, children, hooks, training in module._made_of:
        if part._modules != children:
            module._made_alike, module._made_of = False, []  # for good: what was replaced is let go
            return False
        if part is not module and _hooks(part) != hooks or mode_matters and part.training is not training:
            return False
    return True

)";

// Attributes of modules take a microsecond each, and a network has hundreds.
const char* const kStateReader = R"(

def _state(module):
    """Parameters and buffers at their places. Looked up at every call: anybody may put others there."""
    found = []
    for path, name in _PLACES:
        owner = module
        for part in path:
            owner = owner._modules.get(part) if owner is not None else None
        tensor = None if owner is None else owner._parameters.get(name)
        found.append(getattr(owner, name, None) if tensor is None else tensor)
    return found

)";

// Not an attribute: copies and files of a module would bring along what was made from other weights.
const char* const kPrepared = R"(

_PREPARED = weakref.WeakKeyDictionary()  # by module: which versions of its weights, and what was made from them

)";

// Triton's own launch costs its caller 15 microseconds and more, most of them for a look at the arguments.
// Both ways to launch are one statement: the recorder takes a step of the first call for the same as one of
// later calls where they come from the same line.
const char* const kLauncher = R"(

_KEPT = {}  # by GPU and place: how to launch what Triton has compiled


def _launch(kept, place, kernel, grid, options, /, **arguments):
    """kernel[grid](**arguments, **options); from the second time on without Triton's look at the arguments.

    They are of the same kind each time: numbers stand in this file, and _fits has seen the tensors.
    """
    again = kept.get(place)
    if again is None or torch.compiler.is_compiling():
        launch, values, named = kernel[grid], (), {**arguments, **options}
    else:
        launch, values, named = again, arguments.values(), {}
    compiled = launch(*values, **named)
    if compiled is not None:
        kept[place] = compiled[grid]

)";

}  // namespace tritogen
