"""CompiledObject: everything about one compiled function but its constants, as data that can be stored.

What the compiler makes, the disk keeps and an exported file holds is this one thing. Loading gives an
executable. Knows the pieces it consists of, not how they were made or where they are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.core import dim
from tracejit.core.dataclass import dataclass
from tracejit.core.dim import Size
from tracejit.runtime import objects, packing
from tracejit.runtime.executable import Executable, Message
from tracejit.runtime.signature import Signature

_FORMAT = 3


@dataclass(frozen=True)
class CompiledObject:
    """Object code and how to call it.

    Attributes
    ----------
    image : bytes
        A relocatable object without undefined symbols.
    signature : Signature
    workspace, messages, polls
        As for `Executable`.
    entry : str
        The symbol of the entry.
    constants : tuple of int
        The arrays that it reads, by their places among those of its graph.
    functions : tuple of str
        The library kernels and Python functions that it calls.
    allocates : bool
        It asks for memory while it runs.
    """

    image: bytes
    signature: Signature
    workspace: Size = 0
    messages: tuple[Message, ...] = ()
    polls: bool = False
    entry: str = "entry"
    constants: tuple[int, ...] = ()
    functions: tuple[str, ...] = ()
    allocates: bool = False

    def load(
        self,
        constants: Sequence[np.ndarray] = (),
        functions: Sequence[Any] = (),
        address: int | None = None,
    ) -> Executable:
        """Load the code into this process, unless its entry is at `address`.

        ObjectError when it is damaged or for another machine.
        """
        if address is None:
            address = self.address
        return Executable(
            address, self.signature, constants, functions, self.workspace, self.messages, self.polls
        )

    @property
    def address(self) -> int:
        """Where its entry is in this process: the code keeps nothing between calls, so all that run it share it.

        Without a lock, which a fork could leave held: threads that meet here load it twice.
        """
        found: int | None = self.__dict__.get("loaded")
        if found is None:
            found = self.__dict__["loaded"] = objects.load(self.image).function(self.entry)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledObject.from_payload, (self.to_payload(),)  # without an address of this process

    def to_payload(self) -> bytes:
        """This object as bytes: the same bytes for equal objects, in any process."""
        metadata = {
            "format": _FORMAT,
            "signature": self.signature.to_json(),
            "workspace": self.workspace if isinstance(self.workspace, int) else str(self.workspace),
            "messages": [message if isinstance(message, str) else list(message) for message in self.messages],
            "polls": self.polls,
            "entry": self.entry,
            "constants": list(self.constants),
            "functions": list(self.functions),
            "allocates": self.allocates,
        }
        return packing.pack(self.image, metadata)

    @staticmethod
    def from_payload(payload: bytes) -> CompiledObject:
        """The inverse of `to_payload`; ValueError for anything else."""
        image, data = packing.unpack(payload)
        if data.get("format") != _FORMAT:
            raise ValueError(f"compiled object of format {data.get('format')}, this version reads {_FORMAT}")
        try:
            return CompiledObject(
                image,
                Signature.from_json(data["signature"]),
                data["workspace"] if isinstance(data["workspace"], int) else dim.parse(data["workspace"]),
                tuple(m if isinstance(m, str) else (str(m[0]), str(m[1])) for m in data["messages"]),
                bool(data["polls"]),
                str(data["entry"]),
                tuple(data["constants"]),
                tuple(data["functions"]),
                bool(data["allocates"]),
            )
        except (LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError) as error:
            raise ValueError(f"damaged description of a compiled object: {error!r}") from error
