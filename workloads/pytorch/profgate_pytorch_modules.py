"""The modules that a program calls from outside of any other, and the names of those below them."""
import threading
import weakref

import profgate_pytorch_stages as stages
from profgate_pytorch_clock import Place

# By these names torch's own wrappers have the module that they are around: torch.compile's, which is told by this alone,
# and those of DistributedDataParallel, DataParallel and FullyShardedDataParallel.
COMPILED = "_orig_mod"
DISTRIBUTED = ("module", "_fsdp_wrapped_module")


class Root:
    """A module that was called from outside of any other, and the names of those below it."""

    def __init__(self, module, ranges):
        self.module = weakref.ref(module)
        model = model_in(module)
        self.identity = id(model), type(model).__name__
        self.may_decode = stages.may_decode(model)
        self.place = Place(module)
        self.calls = 0
        self.is_config_read = False
        self._histories = {}  # by thread
        self._ranges = ranges
        self._known = {}  # by id: a weak reference, since ids are used again, and the range's handle or None
        self._next_search = {}  # by class: how many calls of the root must have been

    def history(self):
        thread = threading.get_ident()
        if thread not in self._histories:
            self._histories[thread] = stages.History()
        return self._histories[thread]

    def range_of(self, module):
        known = self._known.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        kind = type(module)
        if self.calls >= self._next_search.get(kind, 0):
            self._search()
            known = self._known.get(id(module))
            if known is not None and known[0]() is module:
                return known[1]
            # It is in no tree, perhaps made anew in each call: look less and less often.
            self._next_search[kind] = 2 * self.calls + 1
        return self._ranges.handle(kind.__name__)

    def _search(self):
        for path, module in self.module().named_modules():
            # torch.compile puts a module around another, which is no layer of the model.
            parts = path.split(".")
            name = ".".join(part for part in parts if part != COMPILED)
            is_layer = name != "" and parts[-1] != COMPILED
            self._known[id(module)] = (weakref.ref(module), self._ranges.handle(name) if is_layer else None)


def model_in(module):
    """The program's own model, out of what torch.compile and torch's distributed packages put around it."""
    for _ in range(8):  # a model may say that it is inside of itself
        children = module.__dict__.get("_modules") or {}  # of a scripted module they are no dict
        names = (COMPILED, *DISTRIBUTED) if type(module).__module__.startswith("torch.") else (COMPILED,)
        inner = next((children[name] for name in names if name in children and children[name] is not None), None)
        if inner is None:
            return module
        module = inner
    return module


def is_layer_alone(module):
    """One of torch's own layers, such as the softmax of a sampler: no model, however far outside it is called."""
    return type(module).__module__.startswith("torch.nn.") and not any(module.children())


def is_replica(module):
    """One of those that DataParallel makes anew in each of its calls, and runs on threads of their own."""
    return module.__dict__.get("_is_replica", False) is True
