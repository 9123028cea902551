"""What takes the place of a class's methods, and how torch.compile is kept from seeing it."""
import functools
import sys
import types


class Ours:
    """What a wrapper calls, for modules of `kinds`; None: of all. Of others it passes on what it is called with."""

    def __init__(self, begin, end, set_eval_frame):
        self.kinds = None
        self.begin = begin
        self.end = end
        self.set_eval_frame = set_eval_frame
        self.rebind = None  # puts another function in the place of the wrapped one

    def retire(self):
        self.kinds = ()

    def __reduce__(self):
        """cloudpickle takes the classes of a script with all that is in them. In the other process nobody may know us."""
        return types.SimpleNamespace, (), {"kinds": ()}


def wrapped_call(adapter, original, torch, begin):
    """What takes the place of a class's __call__, and tells `begin` of it; its `profgate` is an Ours.

    torch.compile must see the program as it is without us: as many graphs, and no break in any. Inside of a compiled
    region Dynamo traces through this function and takes the first line for a constant, so nothing of ours gets into a
    graph; of a module that is made there it must know what the function holds, and knows functions. Where a compiled call comes by on its way to a model's forward, the frame of this function is skipped, as
    those of torch's own are, and Dynamo looks away (set_eval_frame) while functions of ours run. Built-in functions
    stand in for what an older torch lacks, since Dynamo sees no frame of theirs."""
    is_compiling = compiling_of(torch)
    ours = Ours(begin, adapter.end, getattr(dynamo_frames(torch), "set_eval_frame", bool))  # bool(None) is False

    def find_ours():
        return ours

    def call(self, *args, **kwargs):
        if is_compiling():
            return original(self, *args, **kwargs)
        ours = find_ours()
        if ours.kinds is not None and type(self) not in ours.kinds:
            return original(self, *args, **kwargs)
        set_eval_frame = ours.set_eval_frame
        compiler = set_eval_frame(None)
        begun = ours.begin(self, args, kwargs)
        if compiler is not None:  # False is a state, too
            set_eval_frame(compiler)
        if begun is None:
            return original(self, *args, **kwargs)
        has_returned = False
        try:
            result = original(self, *args, **kwargs)
            has_returned = True
            return result
        finally:
            compiler = set_eval_frame(None)
            ours.end(begun, has_returned)
            if compiler is not None:
                set_eval_frame(compiler)

    def rebind(other):
        nonlocal original
        original = other

    ours.rebind = rebind
    call.profgate = ours
    # torch.compile tells the frames around a model's forward from the model by these names.
    call.__name__, call.__qualname__, call.__doc__ = original.__name__, original.__qualname__, original.__doc__
    skip_frames_of(call, dynamo_frames(torch))
    return call


def noting_method(original, note, is_compiling):
    """Module's `original`, which tells of the class first. Where a compiled region makes a module (a slice of a ModuleList)
    Dynamo traces through this one, and knows what it holds only if that are functions: `note` must be no method."""

    @functools.wraps(original)
    def method(self, *args, **kwargs):
        if not is_compiling():
            note(type(self))
        return original(self, *args, **kwargs)

    return method


def any_call_of(kind, torch):
    """The class's __call__, whichever that is when it is called. Dynamo cannot look it up: it goes on by the one of now."""
    inherited = kind.__call__
    is_in_dynamo = getattr(getattr(torch, "compiler", None), "is_dynamo_compiling", compiling_of(torch))

    @functools.wraps(inherited)
    def call_of_kind(self, *args, **kwargs):
        if is_in_dynamo():
            return inherited(self, *args, **kwargs)
        return kind.__call__(self, *args, **kwargs)

    skip_frames_of(call_of_kind, dynamo_frames(torch))
    return call_of_kind


def compiling_of(torch):
    """Whether torch.compile looks on, as a function."""
    return getattr(getattr(torch, "compiler", None), "is_compiling", bool)  # bool() is False


def tell_dynamo(before, now):
    """It compares a module's __call__ with the one that it found when it was imported, and goes a longer way, to the
    same graphs, where somebody has changed it since."""
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        dynamo = sys.modules.get(name)
        if getattr(dynamo, "unpatched_nn_module_call", None) is before:
            dynamo.unpatched_nn_module_call = now


def dynamo_frames(torch):
    """The functions in C below torch._dynamo, whose own import takes a second that the program may never pay."""
    return getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def skip_frames_of(function, frames):
    """What torch._dynamo.disable(recursive=False) does, which changed its name in C."""
    if hasattr(frames, "skip_code"):
        frames.skip_code(function.__code__)
    elif hasattr(frames, "set_code_exec_strategy"):
        action = frames._FrameAction
        frames.set_code_exec_strategy(function.__code__, frames._FrameExecStrategy(action.SKIP, action.DEFAULT))
