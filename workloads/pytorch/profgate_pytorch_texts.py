"""What the calls of a program's decoders tell of its texts: which of them belong together, and whether all of their
tokens count."""
import threading

from profgate_pytorch_stages import DECODE_STEP, FORWARD, PREFILL


class Prompts:
    """Of how many calls each prompt is made: a prefill that directly follows one of its model on its thread, and has a
    cache that is not empty, is a later chunk of the same prompt."""

    def __init__(self):
        self.counts = {}  # (batch, tokens in all, chunks): how often
        self.before = {}  # what other models ran right before prompts, their names: how often
        self._forwards = {}  # by thread: those since the last prefill or step, by model
        self._last = {}  # by thread: the model, the key of its prompt, and the same of the call before

    def add(self, model, name, stage, batch, tokens, follows_others):
        """Whether the call is a later chunk."""
        thread = threading.get_ident()
        if stage != PREFILL:
            self._last[thread] = None
            self._forwards[thread] = {**self._forwards.get(thread, {}), model: name} if stage == FORWARD else {}
            return False
        before = tuple(other for key, other in self._forwards.pop(thread, {}).items() if key != model)
        if before:
            self.before[before] = self.before.get(before, 0) + 1
        last = self._last.get(thread)
        is_chunk = follows_others and last is not None and last[0] == model and last[1][0] == batch
        key = (batch, last[1][1] + tokens, last[1][2] + 1) if is_chunk else (batch, tokens, 1)
        if is_chunk:
            self.counts[last[1]] -= 1
        self.counts[key] = self.counts.get(key, 0) + 1
        self._last[thread] = (model, key, last and (*last[:2], None))
        return is_chunk

    def take_back(self):
        """The thread's last call, a prefill, came to nothing."""
        last = self._last.get(threading.get_ident())
        if last is None:  # a CUDA graph's, with steps behind it
            return
        model, key, before = last
        self.counts[key] -= 1
        if key[2] > 1:
            self.counts[before[1]] += 1
        self._last[threading.get_ident()] = before

    def told_before(self):
        return [{"models": names, "prompts": count} for names, count in self.before.items()]

    def told(self):
        return [{"batch": batch, "tokens": tokens, "chunks": chunks, "prompts": count}
                for (batch, tokens, chunks), count in self.counts.items() if count > 0]


class Turns:
    """Models that decode in turns, such as a draft and its target: each is fed prompts and goes on with them, and one
    comes back after the other on one thread. A decoder whose prefill and decode are modules of their own is none."""

    def __init__(self):
        self._threads = {}  # by thread: the last model, and of each whether it was fed, went on, came back

    def add(self, model, name, stage, follows_others):
        if stage == FORWARD:
            return
        here = self._threads.setdefault(threading.get_ident(), [None, {}])
        seen = here[1].setdefault(model, [name, False, False, False])
        seen[3] = seen[3] or (here[0] is not None and here[0] != model and (seen[1] or seen[2]))
        here[0] = model
        goes_on = stage == DECODE_STEP or follows_others
        seen[2 if goes_on else 1] = True

    def told(self):
        for _, models in self._threads.values():
            decoders = [seen for seen in models.values() if seen[1] and seen[2]]
            if len(decoders) > 1 and any(seen[3] for seen in decoders):
                return [seen[0] for seen in decoders]
        return []


class Guesses:
    """Models that check guesses of their next tokens, such as prompt lookup's: a call of several tokens is followed by one
    with a cache that is longer than before it, and shorter than with all of its tokens, for some were guessed wrong. A
    chunk of a prompt or a chat's next turn stays in the cache as a whole."""

    def __init__(self):
        self._threads = {}  # by thread: of the last call the model, its batch, its tokens, and those before them
        self._checking = {}  # by model: its class
        self._steps = set()  # models that were seen to decode

    def add(self, model, name, stage, batch, tokens, length_of):
        """`length_of`() tells how many tokens of the sequence come before the call's, or None."""
        if stage == FORWARD:
            return
        if stage == DECODE_STEP:
            self._steps.add(model)
        thread = threading.get_ident()
        last = self._threads.get(thread)
        is_same = last is not None and last[:2] == (model, batch)
        # Steps of one token check nothing, so that nobody needs to know where they stand.
        length = length_of() if stage != DECODE_STEP or (is_same and last[2] > 1) else None
        if is_same and length is not None and last[3] is not None and 0 < last[3] < length < last[3] + last[2]:
            self._checking[model] = name
        self._threads[thread] = (model, batch, tokens, length)

    def told(self):
        return [name for model, name in list(self._checking.items()) if model in self._steps]
