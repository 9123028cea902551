"""Times stages on the GPU. A call of a model returns when its kernels are launched, long before they are done, and
waiting for them would change the program: two events a stage are recorded among them instead, and read once the GPU
has passed them."""
import collections


class DeviceClock:
    def __init__(self, torch):
        self._cuda = torch.cuda
        self._pending = collections.deque()  # (stage, event, event), in the order of their ends
        self.samples_ns = {}  # by stage

    def start(self):
        """What stop() is to be told; None where the GPU does nothing: none is in use, or a graph is captured."""
        if not self._cuda.is_initialized() or self._cuda.is_current_stream_capturing():
            return None
        return self._event()

    def stop(self, stage, began):
        self._pending.append((stage, began, self._event()))
        while self._pending and self._pending[0][2].query():
            self._take()

    def finish(self):
        while self._pending:
            self._pending[0][2].synchronize()
            self._take()

    def _event(self):
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def _take(self):
        stage, began, ended = self._pending.popleft()
        self.samples_ns.setdefault(stage, []).append(round(began.elapsed_time(ended) * 1e6))  # it tells milliseconds
