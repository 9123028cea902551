"""Which stage a call of a root is, and for how many sequences and tokens: read off its arguments' names, types and
shapes. No tensor's content is looked at, for that would wait for the GPU."""

PREFILL, DECODE_STEP, FORWARD = "prefill", "decode_step", "forward"

# As transformers and people's own decoders call them, those of a decoder beside its encoder first.
TOKEN_IDS = ("decoder_input_ids", "input_ids", "tokens", "token_ids", "ids", "idx", "input", "x")
EMBEDDINGS = ("decoder_inputs_embeds", "inputs_embeds")
CACHES = ("past_key_values", "past_key_value", "kv_cache", "cache", "past", "layer_past")
POSITIONS = ("start", "start_pos", "position", "pos", "offset", "past_length", "cache_len", "input_pos")

# Several sequences stand one behind the other in a row, as servers pack them: where each begins, and the longest's length.
PACKED, LONGEST_PACKED = "cu_seq_lens_q", "max_seqlen_q"


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


def follows_others(stage, args, kwargs):
    """Whether a prefill's tokens stand behind others of their sequence."""
    return stage == PREFILL and continues_a_sequence(args, kwargs, False)


def of_call(torch, may_decode, args, kwargs, was_called_before, history):
    """(stage, batch, new tokens a sequence, fed tokens a sequence); the counts are None where the model is no decoder.
    Without a KV cache a step is fed the whole sequence again for its one new token."""
    if torch._C._get_tracing_state() is not None:  # sizes are tensors there, and asking for them is recorded
        return FORWARD, None, None, None
    if kwargs.get(PACKED) is not None:
        return of_packed_call(torch, args, kwargs)
    batch, tokens = count_tokens(torch, args, kwargs)
    if tokens is None or not (may_decode or passes_cache(kwargs)):
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


def of_packed_call(torch, args, kwargs):
    """A server's step. Where it feeds some sequences a prompt and others a token, no figure of either is right for it."""
    _, tokens = count_tokens(torch, args, kwargs)
    if tokens is not None and kwargs.get(LONGEST_PACKED) == 1:
        return DECODE_STEP, tokens, 1, 1
    return FORWARD, None, None, None


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


def may_decode(model):
    """transformers' models know whether they can generate; an encoder takes token ids as well."""
    can_generate = getattr(type(model), "can_generate", None)  # of the class: a module looks long for what it lacks
    return not callable(can_generate) or bool(model.can_generate())


def passes_cache(kwargs):
    return any(kwargs.get(name) is not None for name in CACHES)


def passes_no_cache(args, kwargs):
    """Neither one nor a place in one, and none is asked for."""
    if any(type(value) is int for value in args) or kwargs.get("use_cache"):
        return False
    return all(kwargs.get(name) is None for name in CACHES + POSITIONS)


def positions(args, kwargs):
    numbers = [value for value in args if type(value) is int]
    return numbers + [kwargs[name] for name in POSITIONS if type(kwargs.get(name)) is int]


def cache_length(args, kwargs):
    """How many tokens of the sequence come before the call's; None: that cannot be told without a look at the GPU."""
    numbers = positions(args, kwargs)
    if numbers:
        return numbers[0]
    cache = first_given(CACHES, kwargs)
    if not isinstance(cache, (tuple, list)):
        return length_in(cache)
    try:
        return cache[0][0].shape[-2]  # of layers' keys and values, [batch, heads, tokens, size]
    except (AttributeError, IndexError, TypeError):
        return None


def length_in(cache):
    """The length of transformers' own cache, a decoder's beside its encoder too. Others may compute it, or ask the GPU."""
    if type(cache).__name__ == "EncoderDecoderCache":
        cache = getattr(cache, "self_attention_cache", None)
    if type(cache).__name__ != "DynamicCache":
        return None
    try:
        return cache.get_seq_length()
    except ValueError:  # no layer of it has keys
        return None


def continues_a_sequence(args, kwargs, was_called_before):
    """Whether one new token follows others, or is a prompt of its own."""
    numbers = positions(args, kwargs)
    if numbers:
        return numbers[0] > 0
    given = [kwargs[name] for name in CACHES if name in kwargs]
    caches = [cache for cache in given if cache is not None]
    if given and not caches:
        return False
    if caches and isinstance(caches[0], (tuple, list)):
        return len(caches[0]) > 0
    length = length_in(caches[0]) if caches else None
    return length > 0 if length is not None else was_called_before
