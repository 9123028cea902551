"""Times stages on the GPU. A call of a model returns when its kernels are launched, long before they are done, and
waiting for them would change the program: two events a stage are recorded among them instead, and read once the GPU
has passed them."""
import collections
import itertools
import threading
import time
import weakref

from profgate_pytorch_stages import DECODE_STEP

DECODE_ALL = "decode_all"  # steps that follow each other

Mark = collections.namedtuple("Mark", ["host_ns", "device", "event"])  # the latter two are None of a call that no GPU does


class Place:
    """On which GPU a module's kernels run: that of its parameters. These are looked through at its first call, and again,
    ever more seldom, where the first of them has moved since."""

    def __init__(self, module):
        self._module = weakref.ref(module)
        self._first, self._first_device = None, None  # of its parameters
        self._device = None
        self._is_told_by_arguments = True
        self._calls, self._next_look = 0, 1
        self.gpus = 0  # more than one: no event lies among all of its kernels

    def device(self, cuda, args, kwargs):
        """Its number; None: none, or several."""
        self._calls += 1
        first = self._first and self._first()
        if first is None or first.device != self._first_device:
            if self._calls >= self._next_look:
                self._next_look = 2 * self._calls
                self._look()
            elif self._first is not None:
                return None
        if not self._is_told_by_arguments:
            return self._device
        for value in itertools.chain(args, kwargs.values()):
            if hasattr(type(value), "is_cuda") and value.is_cuda:  # of the class: others look long for what they lack
                return value.device.index
        return cuda.current_device() if self._first is None else None  # what has no parameter computes anywhere

    def _look(self):
        module = self._module()
        tensors = list(itertools.chain(module.parameters(), module.buffers()))
        self._first = weakref.ref(tensors[0]) if tensors else None
        self._first_device = tensors[0].device if tensors else None
        devices = {tensor.device.index for tensor in tensors if tensor.is_cuda}
        self.gpus = len(devices)
        self._is_told_by_arguments = not devices
        self._device = devices.pop() if len(devices) == 1 else None


class DeviceClock:
    def __init__(self, torch):
        self._cuda = torch.cuda
        self._lock = threading.RLock()
        self._pending = collections.deque()  # (stage, mark, mark), in the order of their ends
        self._decoding = {}  # by thread: the first mark and the last of the steps that follow each other
        self._samples_ns = {}  # by stage
        self._is_of_gpu = set()  # stages; the host's ranges tell of the others

    def start(self, place, args, kwargs):
        """What stop() is to be told; None where the GPU does nothing: none is in use, or a graph is captured."""
        if not self._cuda.is_initialized() or self._cuda.is_current_stream_capturing():
            return None
        return self._mark(place.device(self._cuda, args, kwargs))

    def stop(self, stage, began):
        ended = self._mark(began.device)
        thread = threading.get_ident()
        with self._lock:
            self._pending.append((stage, began, ended))
            if stage == DECODE_STEP:
                self._decoding[thread] = (self._decoding.get(thread, (began,))[0], ended)
            else:
                self._end_decoding(thread)
            while self._pending and self._is_done(self._pending[0][2]):
                self._take()

    def finish(self):
        with self._lock:
            for thread in list(self._decoding):
                self._end_decoding(thread)
            while self._pending:
                if self._pending[0][2].event is not None:
                    self._pending[0][2].event.synchronize()
                self._take()

    def told(self):
        """By stage, of what the GPU was seen to finish."""
        with self._lock:
            return {stage: list(self._samples_ns[stage]) for stage in self._is_of_gpu}

    def _end_decoding(self, thread):
        if thread in self._decoding:
            self._pending.append((DECODE_ALL, *self._decoding.pop(thread)))

    def _mark(self, device):
        if device is None:
            return Mark(time.perf_counter_ns(), None, None)
        event = self._cuda.Event(enable_timing=True)
        event.record(self._cuda.current_stream(device))
        return Mark(time.perf_counter_ns(), device, event)

    @staticmethod
    def _is_done(mark):
        return mark.event is None or mark.event.query()

    def _take(self):
        stage, began, ended = self._pending.popleft()
        if began.event is not None and began.device == ended.device:
            time_ns = round(began.event.elapsed_time(ended.event) * 1e6)  # it tells milliseconds
            self._is_of_gpu.add(stage)
        else:
            time_ns = ended.host_ns - began.host_ns
        self._samples_ns.setdefault(stage, []).append(time_ns)
