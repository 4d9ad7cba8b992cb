"""TextVectorization: texts as the numbers of their words, or as counts of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tracejit as tf

from ...errors import at_user_line
from ...strings.computing import as_text, computed, frozen
from ..layer import Layer
from .categories import MODES, chosen_mode
from .vocabularies import StringLookup, batches

_PUNCTUATION = re.compile(rb"""[!"#$%&()*+,\-./:;<=>?@\[\\\]^_`{|}~']""")
_STANDARDS: dict[str, Callable[[bytes], bytes]] = {
    "lower_and_strip_punctuation": lambda text: _PUNCTUATION.sub(b"", text.lower()),
    "lower": bytes.lower,
    "strip_punctuation": lambda text: _PUNCTUATION.sub(b"", text),
}
_SPLITS: dict[str, Callable[[bytes], list[bytes]]] = {
    "whitespace": bytes.split,
    "character": lambda text: [c.encode() for c in text.decode("utf-8", "replace")],
}


class TextVectorization(Layer):
    """Texts as the numbers of their words: tidied, cut into words, and looked up.

    Parameters
    ----------
    max_tokens : int, optional
        How many words are known at the most, those for padding and for the unknown included.
    standardize : {"lower_and_strip_punctuation", "lower", "strip_punctuation"}, callable, or None
        How a text is tidied; a callable takes a tensor of texts and gives one.
    split : {"whitespace", "character"}, callable, or None
        How it is cut into words; a callable takes one text, a tensor, and gives a tensor of words. None: a text is
        a word.
    ngrams : int or tuple of int, optional
        Count up to so many words in a row, or these numbers of words in a row, as words too.
    output_mode : {"int", "multi_hot", "count", "tf_idf"}
        The numbers of words, or one row for a text as of :class:`StringLookup`.
    output_sequence_length : int, optional
        How many numbers a text becomes, cut off or filled up with 0; by default as many as the longest has.
    pad_to_max_tokens : bool
        Rows have `max_tokens` columns.
    vocabulary, idf_weights
        As for :class:`StringLookup`. By default :meth:`adapt` finds the words.

    Examples
    --------
    >>> import tracejit as tf
    >>> layer = tf.layers.TextVectorization(output_sequence_length=4)
    >>> layer.adapt(["The cat sat.", "the dog"])
    >>> layer.get_vocabulary()
    ['', '[UNK]', 'the', 'sat', 'dog', 'cat']
    >>> layer(["the cat and the dog"]).numpy().tolist()
    [[2, 5, 1, 2]]
    """

    _casts_inputs = False

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace",
        ngrams: Any = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights: Any = None,
        **options: Any,
    ):
        super().__init__(**options)
        chosen_mode(output_mode, ("int", *MODES[1:]))
        for what, given, known in (("standardize", standardize, _STANDARDS), ("split", split, _SPLITS)):
            if given is not None and not callable(given) and given not in known:
                raise ValueError(
                    f"{what} is one of {tuple(known)}, a callable or None, got {given!r}{at_user_line()}"
                )
        self.max_tokens, self.output_mode, self.pad_to_max_tokens = max_tokens, output_mode, pad_to_max_tokens
        self.standardize, self.split, self.ngrams = standardize, split, ngrams
        self.output_sequence_length = output_sequence_length
        self._lookup: StringLookup = StringLookup(
            max_tokens,
            mask_token="" if output_mode == "int" else None,
            output_mode=output_mode,
            pad_to_max_tokens=pad_to_max_tokens,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
        )

    @property
    def vocabulary(self) -> list[str] | None:
        """The words that are known, without those for padding and for the unknown; None before there are any."""
        return self._lookup.vocabulary

    @property
    def idf_weights(self) -> list[float] | None:
        """What words count in mode tf_idf, those for the unknown last; None without."""
        weights = self._lookup.idf_weights
        return None if weights is None else weights[1:]

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """The words in the order of their numbers; those for padding and for the unknown come first.

        Without `include_special_tokens` they are left out.
        """
        return self._lookup.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """How many words there are, those for padding and for the unknown included."""
        return self._lookup.vocabulary_size()

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Know the words `vocabulary`, with the `idf_weights`, as :meth:`StringLookup.set_vocabulary`."""
        self._lookup.set_vocabulary(vocabulary, idf_weights)

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Know the words of `data`, texts or a Dataset of them; of `steps` batches, where that is said.

        `batch_size` is accepted. It is as :meth:`StringLookup.adapt`.
        """

        def documents() -> Iterator[list[bytes]]:
            for i, batch in enumerate(batches(data)):
                if steps is None or i < steps:
                    yield from self._words(np.asarray(self._tidied(batch).array))

        self._lookup.learn(documents())

    def _tidied(self, texts: Any) -> tf.Tensor:
        text = as_text(texts)
        return as_text(self.standardize(text)) if callable(self.standardize) else text

    def _words(self, texts: np.ndarray) -> list[list[bytes]]:
        """The words of each text."""
        tidy = _STANDARDS.get(self.standardize) if isinstance(self.standardize, str) else None
        return [self._cut(bytes(t) if tidy is None else tidy(bytes(t))) for t in texts.ravel()]

    def _cut(self, text: bytes) -> list[bytes]:
        if callable(self.split):
            parts = tf.convert_to_tensor(self.split(tf.constant(text)))
            words = [bytes(w) for w in np.asarray(parts.array).ravel()]
        else:
            words = [text] if self.split is None else _SPLITS[self.split](text)
        if self.ngrams is None:
            return words
        counts = range(1, self.ngrams + 1) if isinstance(self.ngrams, int) else self.ngrams
        return [b" ".join(words[i : i + n]) for n in counts for i in range(len(words) - n + 1)]

    def call(self, inputs: Any) -> tf.Tensor:
        """The numbers of the words of texts, ``(texts, length)`` or ``(length,)`` for one text; rows in other modes.

        Without a `split` a text is one number.

        `inputs` have the shape ``(texts,)``, ``(texts, 1)``, or that of one text; ShapeError for others. ValueError
        before there are words, and in compiled functions where no length is said.
        """
        text: Any = self._tidied(inputs)
        if len(text.shape) > 1:
            if len(text.shape) > 2 or text.shape[1] != 1:
                raise tf.ShapeError(f"takes texts, (n,) or (n, 1), got {text.spec}{at_user_line()}")
            text = tf.squeeze(text, 1)
        if self.vocabulary is None:
            raise ValueError(
                f"{self.name} knows no words yet: adapt(data), or set_vocabulary{at_user_line()}"
            )
        if self.output_mode == "int" and self.split is None and self.ngrams is None:
            return self._lookup.encode(
                computed(lambda array: self._numbered(array, 1)[..., 0], [text], np.int64)
            )
        length = self.output_sequence_length if self.output_mode == "int" else None
        sizes = None if not text.is_symbolic else (*text.shape, -1 if length is None else length)
        if sizes is not None and length is None:
            raise ValueError(
                f"{self.name} gives as many numbers as the longest text has words, which a compiled function does not "
                f"know: say output_sequence_length, or call it outside, as in Dataset.map{at_user_line()}"
            )
        return self._lookup.encode(
            computed(lambda array: self._numbered(array, length), [text], np.int64, sizes)
        )

    def _numbered(self, texts: np.ndarray, length: int | None) -> np.ndarray:
        rows = [[self._lookup.number(w) for w in words[:length]] for words in self._words(texts)]
        length = max(map(len, rows), default=0) if length is None else length
        ids = np.full((len(rows), length), 0 if self.output_mode == "int" else -1, np.int64)
        for row, numbers in zip(ids, rows, strict=True):
            row[: len(numbers)] = numbers
        return frozen(ids.reshape(*texts.shape, length))
