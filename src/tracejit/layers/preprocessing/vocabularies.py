"""Words, or whole numbers, as the numbers of categories: the layers StringLookup and IntegerLookup."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

import tracejit as tf

from ...data.dataset import Dataset
from ...errors import at_user_line
from ...strings.computing import as_text, computed, each
from ..layer import Layer
from .categories import MODES, chosen_mode, encoded


def batches(data: Any) -> Iterator[np.ndarray]:
    """The arrays that `adapt` is given: a Dataset's elements, or one array, of which each row is a document."""
    if isinstance(data, Dataset):
        yield from (np.asarray(x.array) for x in data)
    else:
        array = np.asarray(tf.convert_to_tensor(data).array)
        yield array.reshape(-1, 1) if array.ndim < 2 else array


class Vocabulary(Layer):
    """Base of the layers that know tokens: which number is which, from data, a list, or a file with one a line."""

    _casts_inputs = False

    def __init__(
        self,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: Any,
        oov_token: Any,
        vocabulary: Any,
        idf_weights: Any,
        invert: bool,
        output_mode: str,
        pad_to_max_tokens: bool,
        **options: Any,
    ):
        super().__init__(**options)
        chosen_mode(output_mode, ("int", *MODES))
        if num_oov_indices not in (0, 1):
            raise ValueError(
                f"unknown tokens share one number, or are refused: num_oov_indices is 1 or 0, got {num_oov_indices}"
                f"{at_user_line()}"
            )
        if invert and output_mode != "int":
            raise ValueError(f"invert=True goes with output_mode='int', not {output_mode!r}{at_user_line()}")
        if pad_to_max_tokens and max_tokens is None:
            raise ValueError(f"pad_to_max_tokens needs max_tokens{at_user_line()}")
        self.max_tokens, self.num_oov_indices, self.invert = max_tokens, num_oov_indices, invert
        self.mask_token, self.oov_token, self.output_mode = mask_token, oov_token, output_mode
        self.pad_to_max_tokens = pad_to_max_tokens
        self.vocabulary: list[Any] | None = None
        self.idf_weights: list[float] | None = None
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    # ---- tokens ------------------------------------------------------------------------------------------

    def _plain(self, token: Any) -> Any:
        """A token of any kind as Python's own."""
        raise NotImplementedError

    def _special(self) -> list[Any]:
        """What stands before the tokens."""
        masked = [] if self.mask_token is None or self.output_mode != "int" else [self.mask_token]
        return masked + [self.oov_token] * self.num_oov_indices

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Know these tokens, a sequence or the name of a file with one a line; `idf_weights` are theirs in mode tf_idf.

        ValueError for tokens that stand in it twice, more than `max_tokens`, or missing weights.
        """
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding="utf-8") as file:
                vocabulary = file.read().splitlines()
        tokens = [self._plain(t) for t in _listed(vocabulary)]
        weights = None if idf_weights is None else [float(w) for w in _listed(idf_weights)]
        if (weights is None) == (self.output_mode == "tf_idf"):
            raise ValueError(f"idf_weights go with output_mode='tf_idf', and it with them{at_user_line()}")
        if weights is not None and len(weights) != len(tokens):
            raise ValueError(
                f"there are {len(tokens)} tokens, and {len(weights)} idf_weights{at_user_line()}"
            )
        special = self._special()
        if special and tokens[: len(special)] == special:
            tokens = tokens[len(special) :]
        elif weights is not None:  # of what is unknown: the mean
            weights = [sum(weights) / len(weights)] * len(special) + weights
        repeated = [t for t, count in collections.Counter([*tokens, *special]).items() if count > 1]
        if not tokens or repeated:
            what = f"{repeated[:3]} stand in it twice" if repeated else "it is empty"
            raise ValueError(f"a vocabulary has tokens, each once: {what}{at_user_line()}")
        if self.max_tokens is not None and len(tokens) + len(special) > self.max_tokens:
            raise ValueError(
                f"max_tokens is {self.max_tokens}, the vocabulary has {len(tokens) + len(special)}{at_user_line()}"
            )
        self._know(tokens, weights)

    def _know(self, tokens: list[Any], weights: list[float] | None) -> None:
        self.vocabulary, self.idf_weights = tokens, weights

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """The tokens in the order of their numbers; those for padding and for the unknown come first.

        Without `include_special_tokens` they are left out.
        """
        return (self._special() if include_special_tokens else []) + (self.vocabulary or [])

    def vocabulary_size(self) -> int:
        """How many tokens there are, those for padding and for the unknown included."""
        return len(self._special()) + len(self.vocabulary or ())

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Know the tokens of `data`, an array or a Dataset of batches, the most frequent first, of these the last in
        order; `steps` says how many batches are read. `batch_size` is accepted.
        """
        self.learn(
            row
            for i, batch in enumerate(batches(data))
            if steps is None or i < steps
            for row in (batch.reshape(1, -1) if batch.ndim < 2 else batch)
        )

    def learn(self, documents: Iterable[Any]) -> None:
        """Know the tokens of `documents`, each a sequence of some."""
        counts, seen, number = collections.Counter[Any](), collections.Counter[Any](), 0
        for document in documents:
            tokens = [self._plain(t) for t in np.asarray(document, object).ravel()]
            counts.update(tokens)
            seen.update(set(tokens))
            number += 1
        for token in (self.mask_token, self.oov_token):
            counts.pop(token, None)
        order = sorted(counts, key=lambda t: (counts[t], t), reverse=True)
        special = self._special()
        tokens = order if self.max_tokens is None else order[: self.max_tokens - len(special)]
        weights = None
        if self.output_mode == "tf_idf":
            found = [math.log(1.0 + number / (1.0 + seen[t])) for t in tokens]
            weights = [sum(found) / len(found)] * len(special) + found
        self._know(tokens, weights)

    # ---- numbers -----------------------------------------------------------------------------------------

    def _depth(self) -> int:
        return self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()

    def _known(self) -> list[Any]:
        if self.vocabulary is None:
            raise ValueError(
                f"{self.name} knows no tokens yet: adapt(data), or set_vocabulary{at_user_line()}"
            )
        return self.vocabulary

    def encode(self, ids: Any) -> tf.Tensor:
        """What becomes of numbers of tokens by the `output_mode`."""
        if self.output_mode == "int":
            return ids
        weights: Any = self.idf_weights
        if weights is not None:
            weights = np.pad(weights, (0, self._depth() - len(weights)))
        dtype = "int64" if weights is None else self.compute_dtype
        return encoded(ids, self._depth(), self.output_mode, weights, dtype)

    def _refuse(self, tokens: Sequence[Any]) -> None:
        raise ValueError(
            f"{self.name} does not know {list(tokens)[:3]}, and num_oov_indices is 0{at_user_line()}"
        )

    def call(self, inputs: Any) -> tf.Tensor:
        """The numbers of tokens, or what the `output_mode` makes of them; the tokens of numbers with `invert`."""
        return self._tokens(inputs) if self.invert else self.encode(self.ids(inputs))

    def ids(self, inputs: Any) -> Any:
        """The numbers of tokens."""
        raise NotImplementedError

    def _tokens(self, inputs: Any) -> Any:
        raise NotImplementedError


class StringLookup(Vocabulary):
    """The numbers of words.

    Parameters
    ----------
    max_tokens : int, optional
        How many words are known at the most, the most frequent ones.
    num_oov_indices : {1, 0}
        1: all unknown words have one number; 0: they raise.
    mask_token : str, optional
        The word of number 0, for padding; it comes before the unknown.
    oov_token : str
        What unknown numbers are called with `invert`.
    vocabulary : sequence of str, or str, optional
        The words, or the name of a file with one a line. By default :meth:`adapt` finds them.
    idf_weights : sequence of float, optional
        Those of the words, for mode ``"tf_idf"``.
    invert : bool
        Give the words of numbers.
    output_mode : {"int", "one_hot", "multi_hot", "count", "tf_idf"}
        The numbers, or rows as of :class:`CategoryEncoding`; with ``"tf_idf"`` counts times weights of words.
    pad_to_max_tokens : bool
        Rows have `max_tokens` columns.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.StringLookup()
    >>> layer.adapt(["a", "b", "b"])
    >>> layer.get_vocabulary(), layer(["a", "b", "c"]).numpy().tolist()
    (['[UNK]', 'b', 'a'], [2, 1, 0])
    >>> back = tf.layers.StringLookup(vocabulary=layer.get_vocabulary(), invert=True)
    >>> print(back([1, 2]))
    tf.Tensor([b'b' b'a'], shape=(2,), dtype=string)
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        **options: Any,
    ):
        self._numbers: dict[bytes, int] = {}
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            pad_to_max_tokens,
            **options,
        )

    def _plain(self, token: Any) -> str:
        return token.decode() if isinstance(token, bytes) else str(token)

    def _know(self, tokens: list[Any], weights: list[float] | None) -> None:
        super()._know(tokens, weights)
        first = len(self._special())
        self._numbers = {token.encode(): first + i for i, token in enumerate(tokens)}
        if self.mask_token is not None:
            self._numbers[self.mask_token.encode()] = 0 if self.output_mode == "int" else -1

    def number(self, token: bytes) -> int:
        """The number of `token`, of an unknown one that of the unknown; ValueError where there is none."""
        found = self._numbers.get(token)
        if found is None:
            if not self.num_oov_indices:
                self._refuse([token])
            return len(self._special()) - 1
        return found

    def ids(self, inputs: Any) -> tf.Tensor:
        """The numbers of the words `inputs`."""
        self._known()
        return computed(lambda array: each(self.number, array, np.int64), [as_text(inputs)], np.int64)

    def _tokens(self, inputs: Any) -> tf.Tensor:
        self._known()

        def named(array: np.ndarray) -> np.ndarray:
            words = [word.encode() for word in self.get_vocabulary()]

            def name(number: Any) -> bytes:
                return words[number] if 0 <= number < len(words) else self.oov_token.encode()

            return each(name, array)

        return computed(named, [tf.cast(inputs, dtype="int64")])


class IntegerLookup(Vocabulary):
    """The numbers, from 0 on without gaps, of whole numbers.

    Parameters
    ----------
    max_tokens : int, optional
        How many of them are known at the most, the most frequent ones.
    num_oov_indices : {1, 0}
        1: all that are unknown have one number; 0: they raise.
    mask_token : int, optional
        What has number 0, for padding; it comes before the unknown.
    oov_token : int
        What unknown numbers are called with `invert`.
    vocabulary, idf_weights : sequence, optional
        What is known, and its weights for mode ``"tf_idf"``. By default :meth:`adapt` finds them; functions that were
        compiled before do not see it.
    invert, output_mode, pad_to_max_tokens
        As for :class:`StringLookup`.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.IntegerLookup(vocabulary=[12, 36, 1138])
    >>> layer([[12, 1138], [42, 36]]).numpy().tolist(), layer.get_vocabulary()
    ([[1, 3], [0, 2]], [-1, 12, 36, 1138])
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        **options: Any,
    ):
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            pad_to_max_tokens,
            **options,
        )

    def _plain(self, token: Any) -> int:
        return int(token)

    def ids(self, inputs: Any) -> tf.Tensor:
        """The numbers of the whole numbers `inputs`."""
        first, tokens = len(self._special()), list(self._known())
        numbers = list(range(first, first + len(tokens)))
        if self.mask_token is not None:
            tokens, numbers = [*tokens, self.mask_token], [*numbers, 0 if self.output_mode == "int" else -1]
        order = np.argsort(tokens)
        keys = tf.constant(np.array(tokens, np.int64)[order])
        x: Any = tf.cast(inputs, dtype="int64")
        place = tf.minimum(tf.searchsorted(keys, tf.reshape(x, [-1])), len(tokens) - 1)
        place = tf.reshape(place, x.shape)
        known = tf.gather(keys, place) == x
        if not self.num_oov_indices and not bool(tf.reduce_all(known)):
            self._refuse(np.asarray(tf.convert_to_tensor(x).array)[~np.asarray(known.array)].tolist())
        found = tf.gather(tf.constant(np.array(numbers, np.int64)[order]), place)
        return tf.where(known, found, tf.cast(first - 1, dtype="int64"))

    def _tokens(self, inputs: Any) -> tf.Tensor:
        self._known()
        tokens = tf.constant(np.array([*self.get_vocabulary(), self.oov_token], np.int64))
        x: Any = tf.cast(inputs, dtype="int64")
        count = len(tokens.shape) and tokens.shape[0] - 1
        return tf.gather(
            tokens, tf.where(tf.logical_and(x >= 0, x < count), x, tf.cast(count, dtype="int64"))
        )


def _listed(values: Any) -> list[Any]:
    """The elements of an array-like of one axis."""
    return list(np.asarray(values.array if isinstance(values, tf.Tensor) else values, object).ravel())
