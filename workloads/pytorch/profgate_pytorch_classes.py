"""Which classes have a wrapped __call__. Where a profiler looks on, torch.nn.Module's own is, and so all are. In other runs
a module's call must cost nothing: there Module's is wrapped until the program's models are known, then only the classes of
these, and classes that no known model has a part of, since each may be the next model's."""
import functools

# From these on a class has modules: made, copied or read from a file.
BEGINNINGS = ("__init__", "__setstate__")


class WrappedClasses:
    def __init__(self, kind_of_all, wrapped, tell_dynamo):
        self._all = kind_of_all  # torch.nn.Module
        self._wrapped = wrapped  # makes what takes the place of a class's __call__
        self._tell_dynamo = tell_dynamo
        self._own = {}  # by class: its own __call__, or None where it is inherited
        self._own_beginnings = {}  # by name: Module's
        self._made = set()  # classes that have modules
        self._models = set()  # classes that are called from outside of any module
        self.is_settled = False  # Module's own is no longer wrapped
        self._wrap(kind_of_all, kind_of_all.__call__)

    def follow_new_modules(self, noting):
        """`noting` makes what takes the place of a method, and calls made() first."""
        for name in BEGINNINGS:
            own = self._all.__dict__.get(name)
            if own is not None:
                self._own_beginnings[name] = own
                setattr(self._all, name, noting(own))

    def made(self, kind, is_part):
        """A module of this class is being made; `is_part`: while a model runs, so it is none itself."""
        if kind in self._made or kind is self._all:  # of Module itself some are made, to hold names
            return
        self._made.add(kind)
        if self.is_settled and not is_part:
            self._wrap_maybe_model(kind)

    def settle(self, models):
        """These are the program's, as far as it is known."""
        self.is_settled = True
        self._unwrap(self._all)
        for kind in self._made:
            self._wrap_maybe_model(kind)
        for model in models:
            self.meet(model)

    def meet(self, model):
        """After settle(): one more of the program's models. What it is made of needs no wrapper."""
        kind = type(model)
        if kind not in self._models and kind in self._own:  # without the detour
            self._unwrap(kind)
        self._models.add(kind)
        self._wrap(kind, kind.__call__)
        for kind in {type(part) for part in model.modules()} - self._models:
            if kind in self._own:
                self._unwrap(kind)

    def restore(self):
        for kind in list(self._own):
            self._unwrap(kind)
        for name, own in self._own_beginnings.items():
            setattr(self._all, name, own)

    def _wrap(self, kind, call):
        if kind in self._own:
            return
        self._own[kind] = kind.__dict__.get("__call__")
        kind.__call__ = self._wrapped(call)
        if kind is self._all:
            self._tell_dynamo(call, kind.__call__)

    def _wrap_maybe_model(self, kind):
        """What torch.fx puts in the place of Module's __call__ while it looks at a model must see the model's parts, too."""
        module, inherited = self._all, self._all.__call__

        @functools.wraps(inherited)
        def call_of_module(self, *args, **kwargs):
            return module.__call__(self, *args, **kwargs)

        self._wrap(kind, call_of_module if kind.__call__ is inherited else kind.__call__)

    def _unwrap(self, kind):
        own = self._own.pop(kind)
        ours = kind.__call__
        if own is None:
            del kind.__call__
        else:
            kind.__call__ = own
        self._tell_dynamo(ours, kind.__call__)


def noting_method(original, note, is_compiling):
    """Module's `original`, which tells of the class first."""

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not is_compiling():
            note(type(self))
        return original(self, *args, **kwargs)

    return method
