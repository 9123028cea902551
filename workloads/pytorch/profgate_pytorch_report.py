"""Writes what a process was seen to do, every few seconds and at its end."""
import json
import os
import sys
import threading
import time

REPORT_INTERVAL_S = 5  # a process that is killed leaves a report no older than this
MOST_OF_THE_TIME = 1 / 100  # that writing reports takes, however much there is to tell


class Report:
    def __init__(self, path):
        self._path = path
        self._lock = threading.Lock()  # no second report may begin while a signal's handler interrupts the first
        self._due_s = 0

    def is_due(self):
        return time.monotonic() > self._due_s

    def is_due_now(self):
        self._due_s = 0

    def write(self, content, wait_s=0):
        """What content() tells; nothing where another thread is at it and not done after that time."""
        if not (self._lock.acquire(timeout=wait_s) if wait_s else self._lock.acquire(False)):
            return
        try:
            began_s = time.monotonic()
            self._due_s = began_s + REPORT_INTERVAL_S
            file = self._path.replace("%p", str(os.getpid()))
            text = json.dumps(content())
            with open(f"{file}.part", "w", encoding="utf-8") as part:
                part.write(text)
            os.replace(f"{file}.part", file)
            ended_s = time.monotonic()
            self._due_s = ended_s + max(REPORT_INTERVAL_S, (ended_s - began_s) / MOST_OF_THE_TIME)
        except OSError:
            pass  # a full disk is told by others
        finally:
            self._lock.release()


def content_of(adapter):
    with adapter.lock:
        return {
            "schema_version": 1,
            "adapter": "pytorch",
            "torch_version": str(adapter.torch.__version__),
            "python": sys.executable,
            "mode": "traced" if adapter.is_traced else "bare",
            "roots": [f"{kind.__module__}.{kind.__qualname__}" for kind in list(adapter.root_classes)],
            **model_of(adapter.decoder_config),
            "stages": [{"name": stage, "batch": batch, "tokens": tokens, "calls": calls}
                       for (stage, batch, tokens), calls in adapter.stage_calls.items() if calls > 0],
            "prompts": adapter.prompts.told(),
            "before_prompts": adapter.prompts.told_before(),
            "decode_in_turns": adapter.turns.told(),
            "checks_guesses": adapter.guesses.told(),
            "steps_without_cache": [{"fed_tokens": fed, "calls": calls}
                                    for fed, calls in adapter.refed_steps.items() if calls > 0],
            "raised": dict(adapter.raised),
            "on_several_gpus": [{"model": name, "gpus": gpus} for name, gpus in adapter.spread_models.items()],
            "samples_ns": adapter.clock.told() if adapter.clock else {},
            "errors": list(adapter.errors),
        }


def model_of(decoder_config):
    """The shape of a Hugging Face model, as its config.json has it: the text, so that no number changes."""
    if decoder_config is None:
        return {}
    config, architecture, dtype = decoder_config
    try:
        known = {key: value for key, value in config.to_dict().items() if value is not None}
        fields = {"architectures": [architecture], **known}
        return {"model_config": json.dumps(fields, default=str), "dtype": dtype}
    except Exception:
        return {}
