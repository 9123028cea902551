"""Opens NVTX ranges around the calls of a PyTorch program's modules, without a word from the program.

The outermost module call of a thread is the root's: a stage, `prefill`, `decode_step` or `forward`. Where a profiler
looks on (PROFGATE_PYTORCH_MODE=traced) each module below it has a range of its own, named by its path. Nothing here
may break the program: a fault ends the adapter and stands in its report.
"""
import atexit
import ctypes
import json
import os
import sys
import threading
import time
import traceback
import weakref

import profgate_pytorch_stages as stages
from profgate_pytorch_classes import WrappedClasses, noting_method
from profgate_pytorch_clock import DeviceClock

REPORT_INTERVAL_S = 5  # a process that is killed leaves a report no older than this
# In bare runs every class may be a model's until a decoder is called. A program without one is taken to have shown what
# its models are made of by so many calls.
LAST_ROOT_SEARCH = 64
LATER_CHUNK = "prefill_chunk"  # an empty range that opens a later chunk of a prompt; no profiler looks on then
CAPTURE = "capture"  # the range of a root's call that goes into a CUDA graph: no stage
RAISED = "profgate: the call raised"  # the last range inside of a stage that ended by an exception, and is none therefore


class Ranges:
    """The library's functions, and its handles by name."""

    def __init__(self, path):
        # PyDLL keeps Python's lock, which is cheaper than giving it away for some nanoseconds.
        library = ctypes.PyDLL(path)
        self._register = library.profgate_register_range
        self._register.argtypes, self._register.restype = [ctypes.c_char_p], ctypes.c_void_p
        self.push = library.profgate_push_range
        self.push.argtypes, self.push.restype = [ctypes.c_void_p], None
        self.pop = library.profgate_pop_range
        self.pop.argtypes, self.pop.restype = [], None
        self._handles = {}

    def handle(self, name):
        if name not in self._handles:
            # Converted once: a ready-made argument is passed on as it is.
            self._handles[name] = ctypes.c_void_p(self._register(name.encode()))
        return self._handles[name]


class Root:
    """A module that was called from outside of any other, and the names of those below it."""

    def __init__(self, module, ranges):
        self.module = weakref.ref(module)
        self.identity = stages.identity(module)
        self.calls = 0
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
            name = ".".join(part for part in parts if part != "_orig_mod")
            is_layer = name != "" and parts[-1] != "_orig_mod"
            self._known[id(module)] = (weakref.ref(module), self._ranges.handle(name) if is_layer else None)


def is_layer_alone(module):
    """One of torch's own layers, such as the softmax of a sampler: no model, however far outside it is called."""
    return type(module).__module__.startswith("torch.nn.") and not any(module.children())


class PerThread(threading.local):
    root = None  # whose call is under way
    call = None  # what stages.of_call() says of it
    began = None  # for the clock
    graph = None  # that is captured


class Adapter:
    def __init__(self, torch, mode, library, report):
        self.torch = torch
        self.is_traced = mode == "traced"
        self.report = report
        self.ranges = Ranges(library)
        self.here = PerThread()
        self.roots = {}  # by id
        self.errors = []
        self.is_stopped = False
        self.decoder_config = None  # (config, class, dtype) of the first decoder that has one
        self.forget()
        self.classes = WrappedClasses(torch.nn.Module, lambda own: wrapped_call(self, own, torch, self.begin), tell_dynamo)
        if not self.is_traced:
            self.classes.follow_new_modules(lambda own: noting_method(own, self.note_made, compiling_of(torch)))

    def forget(self):
        """Of a child process nothing has been seen yet."""
        self.lock = threading.Lock()
        self.stage_calls = {}  # (stage, batch, tokens): how often
        self.refed_steps = {}  # decode steps without a KV cache, by the tokens that each was fed a sequence
        self.root_classes = {}
        self.raised = {}  # calls of roots, by the exception that ended them
        self.prompts = stages.Prompts()
        self.turns = stages.Turns()
        self.clock = None if self.is_traced else DeviceClock(self.torch)  # a trace tells what the GPU does
        self.reported_s = 0

    # The calls of modules.

    def begin(self, module, args, kwargs):
        """What end() is to be told; None: no range is open."""
        try:
            root = self.here.root
            if root is None:
                return None if self.is_stopped else self._begin_root(module, args, kwargs)
            if not self.is_traced or self.is_stopped:
                return None
            handle = root.range_of(module)
            if handle is not None:
                self.ranges.push(handle)
            return handle
        except Exception:
            self.stop()
            return None

    def end(self, begun, has_returned):
        here = self.here
        if begun is here.root:
            here.root = None
            try:
                if not has_returned:
                    self._take_back(here.call)
                elif here.began is not None:
                    self.clock.stop(here.call[0], here.began)
            except Exception:
                self.stop()
        self.ranges.pop()

    def _take_back(self, call):
        """Half a prefill, of a text that goes on in smaller batches maybe, is none."""
        if call is None:
            return
        self.ranges.push(self.ranges.handle(RAISED))
        self.ranges.pop()
        stage, batch, tokens, fed_tokens = call
        exception = sys.exc_info()[0].__name__
        with self.lock:
            self.raised[exception] = self.raised.get(exception, 0) + 1
            self.stage_calls[stage, batch, tokens] -= 1
            if fed_tokens != tokens:
                self.refed_steps[fed_tokens] -= 1
            if stage == stages.PREFILL:
                self.prompts.take_back()

    def note_made(self, kind):
        try:
            self.classes.made(kind, is_part=self.here.root is not None)
        except Exception:
            self.stop()

    def _begin_root(self, module, args, kwargs):
        root = self.roots.get(id(module))
        if root is None or root.module() is not module:
            if is_layer_alone(module):
                return self._open(type(module).__name__) if self.is_traced else None
            root = self.roots[id(module)] = Root(module, self.ranges)
        call = stages.of_call(self.torch, module, args, kwargs, root.calls > 0, root.history())
        stage = call[0]
        root.calls += 1
        self.root_classes[type(module)] = self.root_classes.get(type(module), 0) + 1
        if not self.is_traced:
            self._settle(stage, root)
        graph = self.here.graph
        if graph is not None and self.torch.cuda.is_current_stream_capturing():
            graph.profgate_stage, graph.profgate_model = call, root.identity
            return self._begin_stage(root, CAPTURE, None)
        if self.decoder_config is None and stage != stages.FORWARD:
            self._note_config(module)
        is_chunk = self._count(root.identity, *call, stages.follows_others(stage, args, kwargs))
        begun = self._begin_stage(root, stage, call)
        if is_chunk and not self.is_traced:
            self._open(LATER_CHUNK)
            self.ranges.pop()
        return begun

    def _note_config(self, module):
        module = getattr(module, "_orig_mod", module)  # of torch.compile
        config = getattr(module, "config", None)
        if callable(getattr(config, "to_dict", None)):
            dtype = str(next(module.parameters()).dtype).split(".")[-1]
            self.decoder_config = (config, type(module).__name__, dtype)

    def _begin_stage(self, root, name, call):
        here = self.here
        began = self.clock.start() if self.clock else None
        self._open(name)
        here.root, here.call, here.began = root, call, began
        return root

    def _open(self, name):
        handle = self.ranges.handle(name)
        self.ranges.push(handle)
        return handle

    def _count(self, model, stage, batch, tokens, fed_tokens, follows_others=False):
        """Whether the call is a later chunk of a prompt."""
        with self.lock:
            self.turns.add(*model, stage, follows_others)
            is_chunk = self.prompts.add(*model, stage, batch, tokens, follows_others)
            key = (stage, batch, tokens)
            self.stage_calls[key] = self.stage_calls.get(key, 0) + 1
            if fed_tokens != tokens:
                self.refed_steps[fed_tokens] = self.refed_steps.get(fed_tokens, 0) + 1
        # Before the range is opened, so that it costs no stage any time.
        if time.monotonic() - self.reported_s > REPORT_INTERVAL_S:
            self.write_report()
        return is_chunk

    # CUDA graphs. Nothing runs while one is captured; a replay is the stage that was captured, and no module's call.

    def begin_capture(self, graph, args, kwargs):
        self.here.graph = graph

    def end_capture(self, graph, args, kwargs):
        self.here.graph = None

    def begin_replay(self, graph, args, kwargs):
        try:
            stage = getattr(graph, "profgate_stage", None)
            if stage is None or self.here.root is not None or self.is_stopped:
                return None
            self._count(graph.profgate_model, *stage)
            return self._begin_stage(graph, stage[0], stage)
        except Exception:
            self.stop()
            return None

    def follow_graphs(self):
        kind = self.torch.cuda.CUDAGraph
        for name, begin in (("capture_begin", self.begin_capture), ("capture_end", self.end_capture),
                            ("replay", self.begin_replay)):
            setattr(kind, name, wrapped_call(self, getattr(kind, name), self.torch, begin))

    # What is wrapped.

    def _settle(self, stage, root):
        """Once the program's models are known, a call of any other module costs nothing."""
        if self.classes.is_settled:
            if root.calls == 1:
                self.classes.meet(root.module())
        elif stage != stages.FORWARD or sum(self.root_classes.values()) >= LAST_ROOT_SEARCH:
            models = [known.module() for known in self.roots.values()]
            self.classes.settle([model for model in models if model is not None])

    def stop(self):
        """After a fault: the program goes on without us."""
        self.is_stopped = True
        try:
            self.errors.append(traceback.format_exc(limit=-3))
            self.classes.restore()
            self.write_report()
        except Exception:
            pass

    # The report.

    def finish(self):
        try:
            if self.clock:
                self.clock.finish()
        except Exception:
            self.stop()
        self.write_report(self.clock.samples_ns if self.clock else {})

    def _model(self):
        """The shape of a Hugging Face model, as its config.json has it: the text, so that no number changes."""
        if self.decoder_config is None:
            return {}
        config, architecture, dtype = self.decoder_config
        try:
            known = {key: value for key, value in config.to_dict().items() if value is not None}
            fields = {"architectures": [architecture], **known}
            return {"model_config": json.dumps(fields, default=str), "dtype": dtype}
        except Exception:
            return {}

    def write_report(self, samples_ns=None):
        self.reported_s = time.monotonic()
        file = self.report.replace("%p", str(os.getpid()))
        with self.lock:
            content = {
                "schema_version": 1,
                "adapter": "pytorch",
                "torch_version": str(self.torch.__version__),
                "python": sys.executable,
                "mode": "traced" if self.is_traced else "bare",
                "roots": [f"{kind.__module__}.{kind.__qualname__}" for kind in self.root_classes],
                **self._model(),
                "stages": [{"name": stage, "batch": batch, "tokens": tokens, "calls": calls}
                           for (stage, batch, tokens), calls in self.stage_calls.items() if calls > 0],
                "prompts": self.prompts.told(),
                "before_prompts": self.prompts.told_before(),
                "decode_in_turns": self.turns.told(),
                "steps_without_cache": [{"fed_tokens": fed, "calls": calls}
                                        for fed, calls in self.refed_steps.items() if calls > 0],
                "raised": self.raised,
                "samples_ns": samples_ns or {},  # on the GPU; of a finished program only
                "errors": self.errors,
            }
        try:
            with open(f"{file}.part", "w", encoding="utf-8") as part:
                json.dump(content, part)
            os.replace(f"{file}.part", file)
        except OSError:
            pass  # a full disk is told by others


def wrapped_call(adapter, original, torch, begin):
    """What takes the place of a class's __call__, and tells `begin` of it.

    torch.compile must see the program as it is without us: as many graphs, and no break in any. Inside of a compiled
    region Dynamo traces through this function and takes the first line for a constant, so nothing of ours gets into a
    graph. Where a compiled call comes by on its way to a model's forward, the frame of this function is skipped, as
    those of torch's own are, and Dynamo looks away (set_eval_frame) while functions of ours run. Built-in functions
    stand in for what an older torch lacks, since Dynamo sees no frame of theirs."""
    is_compiling = compiling_of(torch)
    set_eval_frame = getattr(dynamo_frames(torch), "set_eval_frame", bool)  # bool(None) is False
    end = adapter.end

    def call(self, *args, **kwargs):
        if is_compiling():
            return original(self, *args, **kwargs)
        compiler = set_eval_frame(None)
        begun = begin(self, args, kwargs)
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
            end(begun, has_returned)
            if compiler is not None:
                set_eval_frame(compiler)

    # torch.compile tells the frames around a model's forward from the model by these names.
    call.__name__, call.__qualname__, call.__doc__ = original.__name__, original.__qualname__, original.__doc__
    skip_frames_of(call, dynamo_frames(torch))
    return call


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


def install(torch):
    try:
        adapter = Adapter(torch, os.environ["PROFGATE_PYTORCH_MODE"], os.environ["PROFGATE_PYTORCH_LIBRARY"],
                          os.environ["PROFGATE_PYTORCH_REPORT"])
        if hasattr(torch.cuda, "CUDAGraph"):
            adapter.follow_graphs()
        adapter.write_report()
        adapter.reported_s = 0  # the first call of a model is told at once
        os.register_at_fork(after_in_child=adapter.forget)
        atexit.register(adapter.finish)
    except Exception as fault:
        print(f"profgate: the program runs without the PyTorch adapter: {fault!r}", file=sys.stderr)
