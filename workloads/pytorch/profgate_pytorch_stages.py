"""Which stage a call of a root is, and for how many sequences and tokens: read off its arguments' names, types and
shapes. No tensor's content is looked at, for that would wait for the GPU."""
import threading

PREFILL, DECODE_STEP, FORWARD = "prefill", "decode_step", "forward"

# As transformers and people's own decoders call them, those of a decoder beside its encoder first.
TOKEN_IDS = ("decoder_input_ids", "input_ids", "tokens", "token_ids", "ids", "idx", "input", "x")
EMBEDDINGS = ("decoder_inputs_embeds", "inputs_embeds")
CACHES = ("past_key_values", "past_key_value", "kv_cache", "cache", "past", "layer_past")
POSITIONS = ("start", "start_pos", "position", "pos", "offset", "past_length", "cache_len", "input_pos")


class History:
    """What one thread has fed a root without a cache, by which a sequence that is fed again is known."""

    def __init__(self):
        self._batch, self._tokens = None, None  # of the last call; None: it was no sequence from its beginning
        self._was_step = False
        self._feeds_again = False  # it has done so before: one token is a prompt, then

    def continues(self, batch, tokens):
        """Whether the call is the last one's sequence and one token more, or as many in a window that is full."""
        more = tokens - self._tokens if self._batch == batch else None
        is_step = more == 1 or (more == 0 and self._was_step)
        self._batch, self._tokens, self._was_step = batch, tokens, is_step
        self._feeds_again = self._feeds_again or is_step
        return is_step

    def is_prompt_of_one(self):
        return self._feeds_again

    def end(self):
        self._batch, self._tokens, self._was_step = None, None, False


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
        model, key, before = self._last[threading.get_ident()]
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


def identity(module):
    """Of a model and what torch.compile puts around it the same: a number and its class."""
    module = getattr(module, "_orig_mod", module)
    return id(module), type(module).__name__


def follows_others(stage, args, kwargs):
    """Whether a prefill's tokens stand behind others of their sequence."""
    return stage == PREFILL and continues_a_sequence(args, kwargs, False)


def of_call(torch, module, args, kwargs, was_called_before, history):
    """(stage, batch, new tokens a sequence, fed tokens a sequence); the counts are None where the model is no decoder.
    Without a KV cache a step is fed the whole sequence again for its one new token."""
    if torch._C._get_tracing_state() is not None:  # sizes are tensors there, and asking for them is recorded
        return FORWARD, None, None, None
    batch, tokens = count_tokens(torch, args, kwargs)
    if tokens is None or says_it_is_no_decoder(module, kwargs):
        return FORWARD, None, None, None
    can_feed_again = passes_no_cache(args, kwargs)
    is_prompt = can_feed_again and history.is_prompt_of_one()
    if tokens == 1 and not is_prompt and continues_a_sequence(args, kwargs, was_called_before):
        history.end()
        return DECODE_STEP, batch, tokens, tokens
    if not can_feed_again:
        history.end()
    elif history.continues(batch, tokens):
        return DECODE_STEP, batch, 1, tokens
    return PREFILL, batch, tokens, tokens


def count_tokens(torch, args, kwargs):
    ids = first_given(TOKEN_IDS, kwargs)
    if ids is None:
        embedded = first_given(EMBEDDINGS, kwargs)
        if isinstance(embedded, torch.Tensor) and embedded.dim() == 3:  # [batch, tokens, hidden]
            return embedded.shape[0], embedded.shape[1]
        ids = next((value for value in args if isinstance(value, torch.Tensor)), None)
    if not isinstance(ids, torch.Tensor) or ids.dtype not in (torch.int64, torch.int32):
        return None, None
    if ids.dim() == 1:  # [tokens]
        return 1, ids.shape[0]
    return (ids.shape[0], ids.shape[1]) if ids.dim() == 2 else (None, None)


def first_given(names, kwargs):
    if kwargs:
        for name in names:
            if kwargs.get(name) is not None:
                return kwargs[name]
    return None


def says_it_is_no_decoder(module, kwargs):
    """transformers' models know whether they can generate; an encoder takes token ids as well."""
    if not callable(getattr(type(module), "can_generate", None)):  # of the class: a module looks long for what it lacks
        return False
    return all(kwargs.get(name) is None for name in CACHES) and not module.can_generate()


def passes_no_cache(args, kwargs):
    """Neither one nor a place in one, and none is asked for."""
    if any(type(value) is int for value in args) or kwargs.get("use_cache"):
        return False
    return all(kwargs.get(name) is None for name in CACHES + POSITIONS)


def continues_a_sequence(args, kwargs, was_called_before):
    """Whether one new token follows others, or is a prompt of its own."""
    numbers = [value for value in args if type(value) is int]
    numbers += [kwargs[name] for name in POSITIONS if type(kwargs.get(name)) is int]
    if numbers:
        return numbers[0] > 0
    given = [kwargs[name] for name in CACHES if name in kwargs]
    caches = [cache for cache in given if cache is not None]
    if given and not caches:
        return False
    if caches and isinstance(caches[0], (tuple, list)):
        return len(caches[0]) > 0
    if caches and type(caches[0]).__name__ == "DynamicCache":  # others ask the GPU for their length
        return caches[0].get_seq_length() > 0
    return was_called_before
