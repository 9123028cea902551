"""CUDA graphs. Nothing runs while one is captured; a replay is the stage that was captured, and no module's call."""
import profgate_pytorch_stages as stages
from profgate_pytorch_wrapping import wrapped_call


class Captured:
    """The calls of models that went into a graph. Each replay makes all of them."""

    gpus = 1

    def __init__(self):
        self.calls = []  # (model, call), as Adapter counts them
        self._gpu = None

    def add(self, model, call, gpu):
        stage, batch, tokens, fed_tokens = call
        self._gpu = gpu if self._gpu is None else self._gpu
        if stage == stages.DECODE_STEP and self.calls and self.calls[-1][0] == model:
            last_stage, last_batch, last_tokens, last_fed_tokens = self.calls[-1][1]
            if (last_stage, last_batch) == (stage, batch):
                # Several steps have one range: a step of several tokens.
                call = (stage, batch, last_tokens + tokens, last_fed_tokens + fed_tokens)
                self.calls.pop()
        self.calls.append((model, call))

    def of_range(self):
        """The call that a replay's range is of: the first one of a decoder."""
        return next((call for _, call in self.calls if call[0] != stages.FORWARD), self.calls[0][1])

    def device(self, cuda, args, kwargs):
        """As Place tells it."""
        return cuda.current_device() if self._gpu is None else self._gpu


class GraphFollower:
    def __init__(self, adapter):
        self._adapter = adapter

    def follow(self):
        kind = self._adapter.torch.cuda.CUDAGraph
        for name, begin in (("capture_begin", self._begin_capture), ("capture_end", self._end_capture),
                            ("replay", self._begin_replay)):
            setattr(kind, name, wrapped_call(self._adapter, getattr(kind, name), self._adapter.torch, begin))

    def _begin_capture(self, graph, args, kwargs):
        try:
            graph.profgate_captured = self._adapter.here.captured = Captured()
        except Exception:
            self._adapter.stop()

    def _end_capture(self, graph, args, kwargs):
        self._adapter.here.captured = None

    def _begin_replay(self, graph, args, kwargs):
        adapter = self._adapter
        try:
            captured = getattr(graph, "profgate_captured", None)
            if captured is None or not captured.calls or adapter.here.root is not None or adapter.is_stopped:
                return None
            for model, call in captured.calls:
                adapter.count(model, call)
            call = captured.of_range()
            return adapter.begin_stage(graph, call[0], call, captured)
        except Exception:
            adapter.stop()
            return None
