#include "emit/helpers.h"

namespace tritogen {

// Kernels are compiled for addresses that are multiples of 16; what else PyTorch hands out is rare, and the
// original's. So are tensors without an address: what claims a shape, as quantised weights and tensors under
// vmap do. `_TENSORS` is asked of PyTorch, since the recorder has a class of its own for plain tensors.
const char* const kGuards = R"(

class _Meta(NamedTuple):
    """What a tensor must be for the kernels to be called with it."""

    shape: tuple
    strides: tuple
    dtype: torch.dtype


class _Object(NamedTuple):
    """What an object must be: of this class, with these attributes."""

    kind: type
    attributes: dict


_TENSORS = (type(torch.empty(0)), torch.nn.Parameter)  # other classes may make anything of an operation
_MODES = torch._C._len_torch_dispatch_stack()


def _aligned(tensor):
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # it has none
        return False
    return address % 16 == 0 and (address != 0 or tensor.numel() == 0)


def _is_plain(value):
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, (bool, int, float, str, type(None), torch.dtype, torch.device))


def _attributes(value):
    """An object's own, and what is plain of its class's; properties only where it holds no tensors."""
    found = {name: getattr(value, name, None) for name in getattr(type(value), "__dataclass_fields__", ())}
    found.update(getattr(value, "__dict__", {}))
    if not any(isinstance(item, torch.Tensor) for item in found.values()):
        names = [name for name in dir(type(value)) if not name.startswith("__") and name not in found]
        of_class = {name: getattr(value, name, None) for name in names}
        found.update((name, item) for name, item in of_class.items() if _is_plain(item))
    return dict(sorted(found.items()))


def _fits(value, expected):
    """True when value is what the kernels were verified with: tensors on the GPU by shape, strides, dtype and alignment."""
    if isinstance(expected, _Meta):
        return (
            type(value) in _TENSORS
            and value.is_cuda
            and value.shape == expected.shape
            and value.stride() == expected.strides
            and value.dtype is expected.dtype
            and not (value.requires_grad and torch.is_grad_enabled())
            and (torch.compiler.is_compiling() or _aligned(value))
        )
    if isinstance(expected, _Object):
        return type(value) is expected.kind and _fits(_attributes(value), expected.attributes)
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(expected)
            and all(_fits(one, other) for one, other in zip(value, expected))
        )
    if isinstance(expected, dict):  # in the order of its keys, which a program may go by
        return (
            isinstance(value, dict)
            and list(value) == list(expected)
            and all(_fits(value[key], other) for key, other in expected.items())
        )
    return type(value) is type(expected) and value == expected


def _only_values():
    """False where a call is more than its values: traced, watched, in autocast or differentiated forward."""
    return not torch.is_autocast_enabled("cuda") and (
        torch.compiler.is_compiling()
        or not torch.jit.is_tracing()
        and torch.autograd.forward_ad._current_level < 0
        and torch._C._len_torch_dispatch_stack() == _MODES
    )


def _in_order(forward, args, kwargs):
    """Arguments that were given by name, in their places; one that has none in front of it stays named."""
    args, kwargs = list(args), dict(kwargs)
    for name in list(_inspect.signature(forward).parameters)[len(args) :]:
        if name not in kwargs:
            break
        args.append(kwargs.pop(name))
    return args, kwargs

)";

// Settings of a program: numbers, functions, tensors beside the state that somebody changes after the kernels
// were made for others. All of them are looked at in each call, and a network has hundreds: identity tells,
// by loops that Python has in C; values only where it does not (a module that was pickled).
const char* const kSettings = R"(

def _members(holder):
    return holder if isinstance(holder, dict) else dict(enumerate(holder)) if isinstance(holder, (list, tuple)) else vars(holder)


# Attributes that are looked at elsewhere. Of recurrent layers their parameters once more, in lists that are new whenever a model is moved.
_TORCHS = {*vars(torch.nn.Module()), "_flat_weights", "_flat_weight_refs", "_made_alike", "_made_of", "_made_with"}
# Whose hooks compute attributes before each call, of parameters and buffers.
_COMPUTE = ("torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "torch.nn.utils.prune")


def _holders(value, found):
    """Adds to `found`, by id, what holds settings: parts, objects and classes of this file, dicts, lists."""
    own = type(value).__module__ == __name__ or isinstance(value, (torch.nn.Module, _types.SimpleNamespace))
    if not (own or isinstance(value, (dict, list, tuple)) or isinstance(value, type) and value.__module__ == __name__):
        return
    if id(value) in found or not (isinstance(value, (dict, list, tuple)) or hasattr(value, "__dict__")):
        return
    hooks = value._forward_pre_hooks.values() if isinstance(value, torch.nn.Module) else ()
    computing = [hook for hook in hooks if type(hook).__module__ in _COMPUTE]
    elsewhere = _TORCHS.union(getattr(hook, "name", getattr(hook, "_tensor_name", None)) for hook in computing)
    names = [name for name in _members(value) if name not in elsewhere]
    found[id(value)] = value, names
    for name in names:
        _holders(_members(value)[name], found)


def _seen(found):
    """What holders have in their places now, one place after the other; see _kept."""
    holders = [(_members if isinstance(holder, (dict, list, tuple)) else vars, holder) for holder, _ in found]
    gets = [_operator.itemgetter(names[0], *names) if names else _nothing for _, names in found]  # of two it makes a tuple
    values = [value for get, (members_of, holder) in zip(gets, holders) for value in get(members_of(holder))]
    tensors = [value for value in values if isinstance(value, torch.Tensor) and not value.is_inference()]
    sizes = [len(_members(holder)) for holder, _ in found]
    return holders, gets, values, tensors, [tensor._version for tensor in tensors], sizes, [names for _, names in found]


def _nothing(members):
    return ()


def _as_it_was(value, seen):
    atoms = (bool, int, float, complex, str, bytes, torch.dtype, torch.device)
    return value is seen or (type(value) is type(seen) and isinstance(value, atoms) and value == seen)


def _same(now, values):
    return all(map(_operator.is_, now, values)) or all(map(_as_it_was, now, values))


def _shadowed(holder, names):
    """True when a name that came since stands for something else than the class has there (a method, forward)."""
    if isinstance(holder, (dict, list, tuple)):
        return True
    new = vars(holder).keys() - {*names} - _TORCHS - {"__slotnames__"}  # which copies of an object leave on its class
    return any(isinstance(holder, type) or hasattr(type(holder), name) for name in new)


def _kept(seen):
    """True when everything is in its place that was there when it was seen."""
    holders, gets, values, tensors, versions, sizes, names = seen
    members = [members_of(holder) for members_of, holder in holders]
    try:
        now = list(_itertools.chain.from_iterable([get(one) for get, one in zip(gets, members)]))
    except KeyError:
        return False
    if not _same(now, values):
        return False
    if tensors and [tensor._version for tensor in tensors] != versions:
        return False
    grown = [] if (now := list(map(len, members))) == sizes else map(_operator.ne, now, sizes)
    return not any(one and _shadowed(holder, known) for one, (_, holder), known in zip(grown, holders, names))


_found = {}
for _value in list(_ORIGINAL.values()):
    _holders(_value, _found)
_FILE = _seen(_found.values())


def _file_kept():
    return _same(list(map(globals().get, _ORIGINAL)), _ORIGINAL.values()) and _kept(_FILE)

)";

// What a module computes hangs on what its constructor was given, and on what was done to it since: layers
// that were put in the place of others (adapters, quantised ones), hooks (pruning, spectral norms), layers
// that were frozen one by one, numbers and methods that are other ones now.
const char* const kMakeGuards = R"(

def _alike(value, expected):
    """True when an argument of the constructor is the one that the kernels were made for; tensors by shape and dtype."""
    if isinstance(expected, _Meta):
        return isinstance(value, torch.Tensor) and value.shape == expected.shape and value.dtype is expected.dtype
    if isinstance(expected, _Object):
        return type(value) is expected.kind and _alike(_attributes(value), expected.attributes)
    if isinstance(expected, (list, tuple)):
        return isinstance(value, (list, tuple)) and len(value) == len(expected) and all(map(_alike, value, expected))
    if isinstance(expected, dict):
        return isinstance(value, dict) and value.keys() == expected.keys() and all(_alike(value[name], expected[name]) for name in expected)
    return value is expected or (type(value) is type(expected) and value == expected)


_MAKE_UP = _operator.itemgetter("_modules", "_forward_pre_hooks", "_forward_hooks")


def _parts(module):
    """Everything in a module: its parts, what each is made of and its hooks, its mode."""
    parts = list(module.modules())
    return parts, [tuple(map(dict, _MAKE_UP(vars(part)))) for part in parts], [part.training for part in parts]


def _settings(module):
    """What else its parts hold, and the dicts, lists and objects there."""
    found = {}
    for part in module.modules():
        _holders(part, found)
    return _seen(found.values())


def _unchanged(module, mode_matters):
    """False when something was replaced or got a hook since, or, where that matters, was put into another mode alone."""
    parts, made_of, training = module._made_of
    now = list(map(_MAKE_UP, map(vars, parts)))
    if now != made_of:
        if any(children != before for (children, *_), (before, *_) in zip(now, made_of)):
            module._made_alike, module._made_of, module._made_with = False, None, None  # for good: what was replaced is let go
            return False
        if now[1:] != made_of[1:]:  # hooks of the module itself run around its call, as ever
            return False
    if mode_matters and [part.training for part in parts] != training:
        return False
    return _kept(module._made_with) and _file_kept() and not torch.nn.modules.module._has_any_global_hook()


def _names_of(original):
    """Names that the original's classes define, but forward."""
    own = [one for one in original.__mro__ if one.__module__ == __name__]
    return {name for one in own for name in vars(one) if not name.startswith("__")} - {"forward"}


def _as_written(kind, original, names):
    """False when a subclass has something else in the place of what the original's classes define, but around forward."""
    for one in kind.__mro__:
        if one is original:
            return True
        if not names.isdisjoint(vars(one)):
            return False
    return False

)";

// Attributes of modules take a microsecond each, and a network has hundreds.
const char* const kStateReader = R"(

def _state(module):
    """Parameters and buffers at their places. Looked up at every call: anybody may put others there."""
    found = []
    try:
        for path, name in _PLACES:
            owner = module
            for part in path:
                owner = owner._modules.get(part) if owner is not None else None
            tensor = None if owner is None else owner._parameters.get(name)
            found.append(getattr(owner, name, None) if tensor is None else tensor)
    except AttributeError:  # parts that torch.jit.script made have no such dicts: the original runs
        return None
    return found

)";

// What is written in place is computed from what stood there before: two that share memory are another
// program.
const char* const kApart = R"(

_APART = set()  # addresses of what was found apart; shapes are always the same


def _apart(tensors, written):
    """True when no tensor that is written, by its place, shares memory with another."""
    if torch.compiler.is_compiling():
        return False
    addresses = tuple(map(torch.Tensor.data_ptr, tensors))
    if addresses in _APART:
        return True

    def span(tensor):
        last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
        return tensor.data_ptr(), tensor.data_ptr() + (last + 1) * tensor.element_size()

    spans = sorted((*span(one), place in written) for place, one in enumerate(tensors))
    end = written_end = 0
    for first, last, writes in spans:
        if first < (end if writes else written_end):
            return False
        end, written_end = max(end, last), max(written_end, last if writes else 0)
    if len(_APART) == 64:
        _APART.clear()
    _APART.add(addresses)
    return True

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

// Set in each call: what Triton holds is of a thread, and a program may have set its own since.
const char* const kScratch = R"(

def _scratch(size, alignment, stream):
    """Memory for the descriptors that kernels make, where Triton keeps them outside of the kernel."""
    return torch.empty(size, dtype=torch.int8, device="cuda")

)";

}  // namespace tritogen
