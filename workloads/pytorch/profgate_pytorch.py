"""Opens NVTX ranges around the calls of a PyTorch program's modules, without a word from the program.

The outermost module call of a thread is the root's: a stage, `prefill`, `decode_step` or `forward`. Where a profiler
looks on (PROFGATE_PYTORCH_MODE=traced) each module below it has a range of its own, named by its path. Nothing here
may break the program: a fault ends the adapter and stands in its report.
"""
import atexit
import ctypes
import multiprocessing.util  # torch has imported it by now
import os
import sys
import threading
import traceback

import profgate_pytorch_stages as stages
from profgate_pytorch_classes import WrappedClasses
from profgate_pytorch_clock import DeviceClock
from profgate_pytorch_graphs import GraphFollower
from profgate_pytorch_modules import Root, is_layer_alone, is_replica, model_in
from profgate_pytorch_report import Report, content_of
from profgate_pytorch_texts import Guesses, Prompts, Turns
from profgate_pytorch_wrapping import any_call_of, compiling_of, noting_method, tell_dynamo, wrapped_call

# In bare runs every class may be a model's until a decoder is called. A program without one is taken to have shown what
# its models are made of by so many calls.
LAST_ROOT_SEARCH = 64
LAST_REPORT_WAIT_S = 10  # at the end, where another thread writes one
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


class PerThread(threading.local):
    root = None  # whose call is under way
    call = None  # what stages.of_call() says of it
    began = None  # for the clock
    captured = None  # of the CUDA graph that is captured


class Adapter:
    def __init__(self, torch, mode, library, report):
        self.torch = torch
        self.is_traced = mode == "traced"
        self.ranges = Ranges(library)
        self.here = PerThread()
        self.roots = {}  # by id
        self.errors = []
        self.is_stopped = False
        self.is_forked = False
        self.decoder_config = None  # (config, class, dtype) of the first decoder that has one
        self._report_path = report
        self.classes = WrappedClasses(torch.nn.Module, lambda own: wrapped_call(self, own, torch, self.begin),
                                      lambda: any_call_of(torch.nn.Module, torch), tell_dynamo)
        self.forget()
        if not self.is_traced:
            self.classes.follow_new_modules(
                lambda own: noting_method(own, lambda kind: self.note_made(kind), compiling_of(torch)))

    def begin_in_child(self):
        self.is_forked = True
        self.forget()

    def forget(self):
        """Of a child process nothing has been seen yet, and none of its threads holds a lock."""
        self.lock = threading.RLock()  # a signal's handler may call a model
        self.stage_calls = {}  # (stage, batch, tokens): how often
        self.refed_steps = {}  # decode steps without a KV cache, by the tokens that each was fed a sequence
        self.root_classes = {}
        self.raised = {}  # calls of roots, by the exception that ended them
        self.prompts = Prompts()
        self.turns = Turns()
        self.guesses = Guesses()
        self.spread_models = {}  # on how many GPUs the parameters of a model lie, by its class
        self.clock = None if self.is_traced else DeviceClock(self.torch)  # a trace tells what the GPU does
        self.report = Report(self._report_path)
        self.classes.forget_threads()

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
            if is_layer_alone(module) or is_replica(module):
                return self._open(type(module).__name__) if self.is_traced else None
            root = self.roots[id(module)] = Root(module, self.ranges)
        call = stages.of_call(self.torch, root.may_decode, args, kwargs, root.calls > 0, root.history())
        stage = call[0]
        root.calls += 1
        self.root_classes[type(module)] = self.root_classes.get(type(module), 0) + 1
        if not self.is_traced:
            self._settle(stage, root)
        captured = self.here.captured
        if captured is not None and self.torch.cuda.is_current_stream_capturing():
            gpu = root.place.device(self.torch.cuda, args, kwargs) if self.clock else None
            captured.add(root.identity, call, gpu)
            return self.begin_stage(root, CAPTURE, None)
        if stage != stages.FORWARD and not root.is_config_read:
            root.is_config_read = True
            self._note_config(module)
        follows_others = stages.follows_others(stage, args, kwargs)
        is_chunk = self.count(root.identity, call, follows_others, lambda: stages.cache_length(args, kwargs))
        begun = self.begin_stage(root, stage, call, root.place, args, kwargs)
        if is_chunk and not self.is_traced:
            self._open(LATER_CHUNK)
            self.ranges.pop()
        return begun

    def _note_config(self, module):
        if self.decoder_config is not None:
            return
        model = model_in(module)
        config = getattr(model, "config", None)
        if callable(getattr(config, "to_dict", None)):
            dtype = str(next(model.parameters()).dtype).split(".")[-1]
            self.decoder_config = (config, type(model).__name__, dtype)

    def begin_stage(self, root, name, call, place=None, args=(), kwargs=None):
        here = self.here
        began = None
        if self.clock and place is not None:
            began = self.clock.start(place, args, kwargs or {})
            if place.gpus > 1:
                self.spread_models[root.identity[1]] = place.gpus
        self._open(name)
        here.root, here.call, here.began = root, call, began
        return root

    def _open(self, name):
        handle = self.ranges.handle(name)
        self.ranges.push(handle)
        return handle

    def count(self, model, call, follows_others=False, length_of=lambda: None):
        """Whether the call is a later chunk of a prompt."""
        stage, batch, tokens, fed_tokens = call
        with self.lock:
            self.turns.add(*model, stage, follows_others)
            self.guesses.add(*model, stage, batch, tokens, length_of)
            is_chunk = self.prompts.add(*model, stage, batch, tokens, follows_others)
            key = (stage, batch, tokens)
            self.stage_calls[key] = self.stage_calls.get(key, 0) + 1
            if fed_tokens != tokens:
                self.refed_steps[fed_tokens] = self.refed_steps.get(fed_tokens, 0) + 1
        # Before the range is opened, so that it costs no stage any time.
        if self.report.is_due():
            self.write_report()
        return is_chunk

    # What is wrapped.

    def _settle(self, stage, root):
        """Once the program's models are known, a call of any other module costs nothing."""
        if self.classes.is_settled:
            self.classes.follow_changes()
            if root.calls == 1:
                self.classes.meet(root.module())
        elif stage != stages.FORWARD or sum(list(self.root_classes.values())) >= LAST_ROOT_SEARCH:
            models = [known.module() for known in list(self.roots.values())]
            self.classes.settle([model for model in models if model is not None])

    def stop(self):
        """After a fault: the program goes on without us."""
        self.is_stopped = True
        try:
            self.errors.append(traceback.format_exc(limit=-3))
            self.classes.restore()
            self.write_report(LAST_REPORT_WAIT_S)
        except Exception:
            pass

    # The report.

    def write_report(self, wait_s=0):
        self.report.write(lambda: content_of(self), wait_s)

    def finish(self):
        if self.is_forked and not self.root_classes:  # it calls no model: one that loads data, maybe
            return
        try:
            if self.clock:
                self.clock.finish()
        except Exception:
            self.stop()
        try:
            self.write_report(LAST_REPORT_WAIT_S)
        except Exception:
            pass

    def finish_at_end(self):
        """multiprocessing's children end by os._exit(), and have finalizers of their own."""
        atexit.register(self.finish)
        follow_end_of_process(self)
        multiprocessing.util.register_after_fork(self, follow_end_of_process)


def follow_end_of_process(adapter):
    multiprocessing.util.Finalize(None, adapter.finish, exitpriority=0)


def install(torch):
    """Raises where it cannot be, and the program is as without it."""
    adapter = Adapter(torch, os.environ["PROFGATE_PYTORCH_MODE"], os.environ["PROFGATE_PYTORCH_LIBRARY"],
                      os.environ["PROFGATE_PYTORCH_REPORT"])
    try:
        if hasattr(torch.cuda, "CUDAGraph"):
            GraphFollower(adapter).follow()
        adapter.write_report()
        adapter.report.is_due_now()  # the first call of a model is told at once
        os.register_at_fork(after_in_child=adapter.begin_in_child)
        adapter.finish_at_end()
    except Exception:
        adapter.stop()
        raise
