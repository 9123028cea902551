"""Times stages on the GPU. A call of a model returns when its kernels are launched, long before they are done, and
waiting for them would change the program: two events a stage are recorded among them instead, and read once the GPU
has passed them."""
import collections
import threading

DECODE_STEP, DECODE_ALL = "decode_step", "decode_all"


class DeviceClock:
    def __init__(self, torch):
        self._cuda = torch.cuda
        self._pending = collections.deque()  # (stage, event, event), in the order of their ends
        self._decoding = {}  # by thread: the first event and the last of the steps that follow each other
        self.samples_ns = {}  # by stage

    def start(self):
        """What stop() is to be told; None where the GPU does nothing: none is in use, or a graph is captured."""
        if not self._cuda.is_initialized() or self._cuda.is_current_stream_capturing():
            return None
        return self._event()

    def stop(self, stage, began):
        ended = self._event()
        self._pending.append((stage, began, ended))
        thread = threading.get_ident()
        if stage == DECODE_STEP:
            self._decoding[thread] = (self._decoding.get(thread, (began,))[0], ended)
        else:
            self._end_decoding(thread)
        while self._pending and self._pending[0][2].query():
            self._take()

    def finish(self):
        for thread in list(self._decoding):
            self._end_decoding(thread)
        while self._pending:
            self._pending[0][2].synchronize()
            self._take()

    def _end_decoding(self, thread):
        if thread in self._decoding:
            self._pending.append((DECODE_ALL, *self._decoding.pop(thread)))

    def _event(self):
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def _take(self):
        stage, began, ended = self._pending.popleft()
        self.samples_ns.setdefault(stage, []).append(round(began.elapsed_time(ended) * 1e6))  # it tells milliseconds
