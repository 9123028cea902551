"""Which classes have a wrapped __call__. Where a profiler looks on, torch.nn.Module's own is, and so all are. In other runs
a module's call must cost nothing: there Module's is wrapped until the program's models are known, then only the classes of
these, and classes that no known model has a part of, since each may be the next model's.

A program may put functions of its own into these places, around ours. They stay where they are, and ours below them
does nothing any more once it is not wanted. Or it took a model's __call__ before the first call, as transformers' generate()
does, and goes on by that: it stays the model's."""
import threading

# From these on a class has modules: made, copied or read from a file.
BEGINNINGS = ("__init__", "__setstate__")


class WrappedClasses:
    def __init__(self, kind_of_all, wrapped, any_call, tell_dynamo):
        self._all = kind_of_all  # torch.nn.Module
        self._wrapped = wrapped  # makes what takes the place of a class's __call__
        self._any_call = any_call  # makes what calls Module's __call__, whichever that is by then
        self._tell_dynamo = tell_dynamo
        self._own = {}  # by class: its own __call__, or None where it is inherited, and ours
        self._own_beginnings = {}  # by name: Module's, and ours
        self._made = set()  # classes that have modules
        self._models = set()  # classes that are called from outside of any module
        self._direct = set()  # classes whose wrapper calls what Module's __call__ was when it was last looked at
        self._call_of_all = None  # Module's __call__, as it was when it was last looked at
        self._is_restored = False
        self.is_settled = False  # Module's own is no longer wrapped
        self.forget_threads()
        self._wrap(kind_of_all, kind_of_all.__call__)

    def forget_threads(self):
        """Of a child process there is one."""
        self._lock = threading.RLock()

    def follow_new_modules(self, noting):
        """`noting` makes what takes the place of a method, and calls made() first."""
        for name in BEGINNINGS:
            own = self._all.__dict__.get(name)
            if own is not None:
                ours = noting(own)
                self._own_beginnings[name] = own, ours
                setattr(self._all, name, ours)

    def made(self, kind, is_part):
        """A module of this class is being made; `is_part`: while a model runs, so it is none itself."""
        if kind in self._made or kind is self._all:  # of Module itself some are made, to hold names
            return
        with self._lock:
            self._made.add(kind)
            if self.is_settled and not is_part and not self._is_restored:
                self._wrap_maybe_model(kind)

    def settle(self, models):
        """These are the program's, as far as it is known."""
        with self._lock:
            if self.is_settled or self._is_restored:
                return
            self.is_settled = True
            self._unwrap(self._all, held_by=self._models)
            self._call_of_all = self._all.__call__
            for kind in list(self._made):
                self._wrap_maybe_model(kind)
            for model in models:
                self.meet(model)

    def meet(self, model):
        """After settle(): one more of the program's models. What it is made of needs no wrapper."""
        kind = type(model)
        with self._lock:
            if self._is_restored:
                return
            if kind not in self._models and kind in self._own:  # without the detour
                self._unwrap(kind, held_by=self._models)
            self._models.add(kind)
            if kind.__call__ is self._call_of_all:
                self._direct.add(kind)
            self._wrap(kind, kind.__call__)
            for kind in {type(part) for part in model.modules()} - self._models:
                if kind in self._own:
                    self._unwrap(kind)

    def follow_changes(self):
        """After settle(), at each call of a model: somebody may have put another __call__ into Module, or taken it away."""
        if self._all.__call__ is self._call_of_all:
            return
        with self._lock:
            for kind in self._direct & set(self._own):
                self._own[kind][1].profgate.rebind(self._any_call())
            self._direct.clear()
            self._call_of_all = self._all.__call__

    def restore(self):
        with self._lock:
            self._is_restored = True
            for kind in list(self._own):
                self._unwrap(kind)
            for name, (own, ours) in self._own_beginnings.items():
                if self._all.__dict__.get(name) is ours:
                    setattr(self._all, name, own)

    def _wrap(self, kind, call):
        if kind in self._own:
            return
        ours = self._wrapped(call)
        self._own[kind] = kind.__dict__.get("__call__"), ours
        kind.__call__ = ours
        if kind is self._all:
            self._tell_dynamo(call, ours)

    def _wrap_maybe_model(self, kind):
        """What torch.fx puts in the place of Module's __call__ while it looks at a model must see the model's parts, too."""
        self._wrap(kind, self._any_call() if kind.__call__ is self._all.__call__ else kind.__call__)

    def _unwrap(self, kind, held_by=None):
        """`held_by`: classes for which a program may have taken ours, and calls it still."""
        own, ours = self._own.pop(kind)
        self._direct.discard(kind)
        if held_by is None:
            ours.profgate.retire()
        else:
            ours.profgate.kinds = held_by
        if kind.__dict__.get("__call__") is not ours:
            return  # the program's own stands there, around ours
        if own is None:
            del kind.__call__
        else:
            kind.__call__ = own
        self._tell_dynamo(ours, kind.__call__)
