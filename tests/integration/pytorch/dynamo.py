"""What the wrapper does beside torch.compile, of which older and newer versions are played here: without torch."""
import os
import sys
import types

sys.path.insert(0, os.environ["PROFGATE_ADAPTER"])
from profgate_pytorch_wrapping import any_call_of, compiling_of, noting_method, wrapped_call


class Frames:
    """torch._C._dynamo.eval_frame."""

    def __init__(self):
        self.callback = None
        self.skipped = []

    def set_eval_frame(self, callback):
        before, self.callback = self.callback, callback
        return before


class FramesWithSkipCode(Frames):  # 2.0 to 2.6 or so
    def skip_code(self, code):
        self.skipped.append(code)


class FramesWithStrategies(Frames):  # later ones
    _FrameAction = types.SimpleNamespace(SKIP="skip", DEFAULT="default")

    @staticmethod
    def _FrameExecStrategy(current, recursive):
        return current, recursive

    def set_code_exec_strategy(self, code, strategy):
        assert strategy == ("skip", "default"), strategy  # what is called below is compiled as ever
        self.skipped.append(code)


class Adapter:
    """Notes what was called, and whether Dynamo would have looked at it."""

    def __init__(self, frames):
        self.frames = frames
        self.calls = []

    def begin(self, module, args, kwargs):
        self.calls.append(("begin", self.frames.callback))
        return "range"

    def end(self, begun, has_returned):
        self.calls.append(("end" if has_returned else "raised", self.frames.callback))

    def original(self, module, x):
        self.calls.append(("forward", self.frames.callback))
        if x < 0:
            raise KeyError(x)
        return x + 1


def torch_with(frames, compiler):
    torch = types.SimpleNamespace(_C=types.SimpleNamespace(_dynamo=types.SimpleNamespace(eval_frame=frames)))
    if compiler is not None:
        torch.compiler = compiler
    return torch


def assert_knows_what_it_holds(function):
    """Of a module that a compiled region makes Dynamo has no place to look things up: it wraps all that a function holds, of
    which it knows functions and classes, and no object of ours and no method."""
    for cell in function.__closure__:
        known = (types.FunctionType, types.BuiltinFunctionType, type)
        assert type(cell.cell_contents) in known, cell.cell_contents


def play_makers(torch, frames):
    class Module:
        def __init__(self):
            pass

        def __call__(self):
            return "Module's own"

    made = []
    Module.__init__ = noting_method(Module.__init__, lambda kind: made.append(kind), compiling_of(torch))
    assert_knows_what_it_holds(Module.__init__)
    call = any_call_of(Module, torch)
    assert_knows_what_it_holds(call)
    assert frames.skipped[-1] is call.__code__
    Module.__call__ = lambda self: "another one's"
    return call(Module()), made


def play(frames, compiler):
    torch = torch_with(frames, compiler)
    adapter = Adapter(frames)

    def original(module, x):
        return adapter.original(module, x)

    call = wrapped_call(adapter, original, torch, adapter.begin)
    assert call.__name__ == "original" and frames.skipped == [call.__code__]
    assert_knows_what_it_holds(call)
    for callback in (None, False, "compile this"):
        frames.callback, adapter.calls = callback, []
        assert call("module", 1) == 2
        assert adapter.calls == [("begin", None), ("forward", callback), ("end", None)], adapter.calls
        assert frames.callback == callback
        try:
            call("module", -1)
        except KeyError:
            assert adapter.calls[-1] == ("raised", None) and frames.callback == callback
    return adapter, call


def play_retired(call, adapter):
    """Somebody else's function may go on calling it."""
    adapter.calls = []
    call.profgate.retire()
    assert call("module", 1) == 2 and [name for name, _ in adapter.calls] == ["forward"], adapter.calls


for frames in (FramesWithSkipCode(), FramesWithStrategies()):
    play(frames, None)  # 2.0
    state = types.SimpleNamespace(compiling=False)
    adapter, call = play(frames.__class__(), types.SimpleNamespace(is_compiling=lambda: state.compiling))
    state.compiling, adapter.calls = True, []
    assert call("module", 1) == 2
    assert [name for name, _ in adapter.calls] == ["forward"], adapter.calls
    torch = torch_with(frames, types.SimpleNamespace(is_compiling=lambda: state.compiling))
    assert play_makers(torch, frames) == ("Module's own", []), "the call that Dynamo can look up, and nobody is told"
    state.compiling = False
    said, made = play_makers(torch, frames)
    assert said == "another one's" and len(made) == 1, (said, made)
    play_retired(call, adapter)
print("as without the adapter")
