"""GPT-2 in basic operations that TensorFlow 1.15, 2.6 and 2.21 share.

Radford et al., "Language Models are Unsupervised Multitask Learners" (2019): layer
normalization before each block, tanh form of GELU, output tied to the token embedding,
weights N(0, 0.02) with the projections into the residual stream divided by the square
root of their number. No dropout: it would need the same random bits of every compiler.
The optimizer is Adam with the norm of the gradient clipped, written in operations, so
that it is the same everywhere.

All functions are handed TensorFlow, and trace as well as they execute.
"""

from __future__ import annotations

import math
from typing import Any, List, Mapping, NamedTuple, Sequence

import numpy as np

from ge_harness.records.training import TrainingConfig

BETA_1, BETA_2, EPSILON, CLIP = 0.9, 0.95, 1e-8, 1.0
_NORM_EPSILON = 1e-5
# Beyond it half precision would overflow; after softmax it is zero all the same.
_MASKED = -1e4
# Keeps small gradients above the smallest number of half precision.
_LOSS_SCALE = {"float16": 128.0}
_BLOCK = ("ln_1.g", "ln_1.b", "attn.w", "attn.b", "attn.proj.w", "attn.proj.b",
          "ln_2.g", "ln_2.b", "mlp.w", "mlp.b", "mlp.proj.w", "mlp.proj.b")

Tensors = List[Any]


class State(NamedTuple):
    """Weights and both moments of Adam, in the order of `shapes`."""

    weights: Tensors
    first: Tensors
    second: Tensors

    @property
    def flat(self) -> Tensors:
        """One list of all."""
        return [*self.weights, *self.first, *self.second]


def unflatten(tensors: Sequence[Any]) -> State:
    """Return the state that `State.flat` made one list of."""
    third = len(tensors) // 3
    return State(list(tensors[:third]), list(tensors[third:2 * third]),
                 list(tensors[2 * third:]))


def shapes(config: TrainingConfig) -> list[tuple[str, tuple[int, ...]]]:
    """Return (name, shape) of every weight, in order."""
    width = config.width
    block = ((width,), (width,), (width, 3 * width), (3 * width,), (width, width),
             (width,), (width,), (width,), (width, 4 * width), (4 * width,),
             (4 * width, width), (width,))
    found: list[tuple[str, tuple[int, ...]]] = [
        ("wte", (config.vocabulary, width)), ("wpe", (config.positions, width))]
    for layer in range(config.layers):
        found += [(f"h{layer}.{name}", shape) for name, shape in zip(_BLOCK, block)]
    return [*found, ("ln_f.g", (width,)), ("ln_f.b", (width,))]


def initial(config: TrainingConfig) -> list[np.ndarray]:
    """Return the first state as arrays: the same on every stack.

    Returns:
        float32, in the order of `State.flat`.
    """
    stream = np.random.RandomState(config.seed)
    weights = []
    for name, shape in shapes(config):
        if name.endswith(".g"):
            weights.append(np.ones(shape, np.float32))
        elif name.endswith(".b"):
            weights.append(np.zeros(shape, np.float32))
        else:
            spread = 0.02
            if name.endswith(".proj.w"):
                spread /= math.sqrt(2 * config.layers)
            weights.append((spread * stream.standard_normal(shape)).astype(np.float32))
    zeros = [np.zeros_like(each) for each in weights]
    return [*weights, *zeros, *[np.zeros_like(each) for each in weights]]


def positions(config: TrainingConfig) -> np.ndarray:
    """Return where the sequences of every step begin in the corpus.

    Returns:
        [steps, batch] int64.
    """
    room = config.train_bytes - config.sequence - 1
    stream = np.random.RandomState(config.seed + 7919)
    return stream.randint(0, room, (config.steps, config.batch)).astype(np.int64)


def eval_positions(config: TrainingConfig, corpus_bytes: int) -> np.ndarray:
    """Return where the sequences of an evaluation begin: the same for every seed.

    Returns:
        [eval_batches, batch] int64.
    """
    stream = np.random.RandomState(104729)
    return stream.randint(
        config.train_bytes, corpus_bytes - config.sequence - 1,
        (config.eval_batches, config.batch)).astype(np.int64)


def rate(config: TrainingConfig, step: int) -> np.float32:
    """Return the learning rate of a step (from 1) with Adam's bias correction in it.

    Linear warm-up over a twentieth of the steps, then a cosine down to a tenth.
    """
    warm = max(1, config.steps // 20)
    part = min(1.0, step / warm)
    if step > warm:
        done = (step - warm) / max(1, config.steps - warm)
        part = 0.1 + 0.45 * (1 + math.cos(math.pi * done))
    bias = math.sqrt(1 - BETA_2 ** step) / (1 - BETA_1 ** step)
    return np.float32(config.learning_rate * part * bias)


def loss(tf: Any, config: TrainingConfig, weights: Mapping[str, Any], embedded: Any,
         targets: Any) -> Any:
    """Return the mean cross entropy of the next token.

    Args:
        tf: TensorFlow.
        config: the model.
        weights: by name, float32.
        embedded: [batch * sequence, width] float32, rows of "wte".
        targets: [batch * sequence] int32.

    Returns:
        [] float32.
    """
    cast = {name: tf.cast(value, config.dtype) for name, value in weights.items()
            } if config.dtype != "float32" else dict(weights)
    place = tf.tile(weights["wpe"][:config.sequence], [config.batch, 1])
    x = tf.cast(embedded + place, config.dtype)
    for layer in range(config.layers):
        own = {name: cast[f"h{layer}.{name}"] for name in _BLOCK}
        x = x + _attention(tf, config, own, _normalized(
            tf, x, own["ln_1.g"], own["ln_1.b"]))
        inner = _normalized(tf, x, own["ln_2.g"], own["ln_2.b"])
        inner = _gelu(tf, tf.matmul(inner, own["mlp.w"]) + own["mlp.b"])
        x = x + tf.matmul(inner, own["mlp.proj.w"]) + own["mlp.proj.b"]
    x = _normalized(tf, x, cast["ln_f.g"], cast["ln_f.b"])
    logits = tf.cast(tf.matmul(x, cast["wte"], transpose_b=True), "float32")
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=targets, logits=logits))


def _normalized(tf: Any, x: Any, gain: Any, bias: Any) -> Any:
    centered = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(centered * centered, axis=-1, keepdims=True)
    return centered * tf.math.rsqrt(variance + _NORM_EPSILON) * gain + bias


def _gelu(tf: Any, x: Any) -> Any:
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
    return 0.5 * x * (1.0 + tf.tanh(inner))


def _attention(tf: Any, config: TrainingConfig, own: Mapping[str, Any], x: Any) -> Any:
    batch, length, heads = config.batch, config.sequence, config.heads
    depth = config.width // heads
    split = tf.reshape(tf.matmul(x, own["attn.w"]) + own["attn.b"],
                       [batch, length, 3, heads, depth])
    query, key, value = tf.unstack(tf.transpose(split, [2, 0, 3, 1, 4]), num=3, axis=0)
    scores = tf.matmul(query, key, transpose_b=True) * (1 / math.sqrt(depth))
    ahead = np.triu(np.full((length, length), _MASKED, np.float32), 1)
    shares = tf.nn.softmax(scores + tf.cast(tf.constant(ahead), config.dtype))
    mixed = tf.transpose(tf.matmul(shares, value), [0, 2, 1, 3])
    mixed = tf.reshape(mixed, [batch * length, config.width])
    return tf.matmul(mixed, own["attn.proj.w"]) + own["attn.proj.b"]


def split_tokens(tf: Any, tokens: Any) -> tuple[Any, Any]:
    """Return inputs and targets, [batch * sequence] int32 each.

    Args:
        tf: TensorFlow.
        tokens: [batch, sequence + 1] int32.
    """
    return tf.reshape(tokens[:, :-1], [-1]), tf.reshape(tokens[:, 1:], [-1])


def evaluate(tf: Any, config: TrainingConfig, weights: Tensors, tokens: Any) -> Any:
    """Return the loss of a batch, [] float32, from [batch, sequence + 1] int32."""
    named = dict(zip((name for name, _ in shapes(config)), weights))
    inputs, targets = split_tokens(tf, tokens)
    return loss(tf, config, named, tf.gather(named["wte"], inputs), targets)


def step(tf: Any, config: TrainingConfig, state: State, tokens: Any, rate_now: Any
         ) -> tuple[State, Any, Any]:
    """Do one step of training.

    Args:
        tf: TensorFlow.
        config: the model.
        state: before the step.
        tokens: [batch, sequence + 1] int32.
        rate_now: [] float32, from `rate`.

    Returns:
        The state after the step; loss before it and norm of its gradient before it is
        clipped, [] float32 both.
    """
    names = [name for name, _ in shapes(config)]
    named = dict(zip(names, state.weights))
    inputs, targets = split_tokens(tf, tokens)
    scale = _LOSS_SCALE.get(config.dtype, 1.0)
    # Outside the tape: its gradient for a gather is no dense tensor.
    embedded = tf.gather(named["wte"], inputs)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch([embedded, *state.weights])
        found = loss(tf, config, named, embedded, targets)
        scaled = found * scale if scale != 1.0 else found
    gradients = tape.gradient(scaled, [embedded, *state.weights])
    rows = tf.math.unsorted_segment_sum(gradients[0], inputs, config.vocabulary)
    dense = [gradients[1] + rows, *gradients[2:]]
    if scale != 1.0:
        dense = [each * (1 / scale) for each in dense]
    norm = tf.sqrt(tf.add_n([tf.reduce_sum(each * each) for each in dense]))
    factor = CLIP / tf.maximum(norm, CLIP)
    after = State([], [], [])
    for weight, gradient, first, second in zip(
            state.weights, dense, state.first, state.second):
        gradient = gradient * factor
        first = first * BETA_1 + gradient * (1 - BETA_1)
        second = second * BETA_2 + gradient * gradient * (1 - BETA_2)
        after.first.append(first)
        after.second.append(second)
        after.weights.append(
            weight - rate_now * first / (tf.sqrt(second) + EPSILON))
    return after, found, norm
