"""An ES module that calls an exported WebAssembly module with typed arrays: in browsers and Node, with nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.core.dim import Dim, Size, substitute
from tracejit.runtime.exported.interface import Interface, array_text, signature_text
from tracejit.runtime.signature import ArraySpec, Signature

_TYPES = {
    "float64": "Float64Array", "float32": "Float32Array", "float16": "Uint16Array",
    "bfloat16": "Uint16Array", "bool": "Uint8Array",
    "complex128": "Float64Array", "complex64": "Float32Array", "int64": "BigInt64Array",
    "uint64": "BigUint64Array",
    **{f"{u}int{n}": f"{u.upper()}{'i' if u else 'I'}nt{n}Array" for u in ("", "u") for n in (8, 16, 32)},
}  # fmt: skip

_HEAD = """\
/**
 * {outline}
 *
 * {name}.wasm, which stands beside this file, is all it needs:
 *
 *     import {{ instantiate }} from "./{name}.mjs";
 *     const {name} = await instantiate();
 *     const {{ {results} }} = {name}({parameters});
 *
 * Arguments are typed arrays, whose last axis runs fastest, or numbers and (nested) lists of them. Results are new
 * arrays; numbers where they have no axes.{notes}
 *
 * @module
 */

/**
 * @typedef {{object}} Results
{properties} */

/**
 * @callback Call
{arguments} * @returns {{Results}}
 */

const NAME = "{name}";

/** What goes in and comes out: the name, the kind of array, the shape by the sizes. */
const INPUTS = [
{inputs}];
const OUTPUTS = [
{outputs}];

/** The sizes, in the order of the function's parameters. */
const SIZES = {sizes};

/** How the lengths of the arguments tell a size, perhaps with others that are known. */
const FROM_LENGTHS = [{solutions}];

/** Bytes of scratch memory. */
const work = (s) => {work};
{helpers}"""

_NOTES = {
    "c": "Complex numbers are pairs: the last axis has their real and imaginary parts.",
    "b": "Bools are bytes, 0 or 1.",
    "float16": "Half-precision numbers are their bits.",
    "bfloat16": "bfloat16 numbers are their bits, the upper halves of those of float32.",
}
_HELPERS = {
    "floordiv(": "const floordiv = (a, b) => Math.floor(a / b);\n",
    "max(": "const { max } = Math;\n",
}

_BODY = r"""
/**
 * Make the function ready.
 *
 * @param {string | URL | Response | BufferSource | WebAssembly.Module} [source]
 *   Where the module is, in Node a path too, or the module itself. By default it stands beside this file.
 * @returns {Promise<Call & { arrays(sizes?: Record<string, number>): Arrays }>}
 *   The function. Its method `arrays` is for callers that want no copies.
 */
export async function instantiate(source = new URL(`./${NAME}.wasm`, import.meta.url)) {
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await bytes(source));
  const instance = await WebAssembly.instantiate(module);
  const memory = new Memory(instance.exports);
  const call = (...given) => run(memory, given);
  return Object.assign(call, { arrays: (sizes = {}) => memory.arrays(checked(sizes)) });
}

async function bytes(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (typeof source?.arrayBuffer === "function") return source.arrayBuffer();
  if (globalThis.process?.versions?.node && !/^(https?|data|blob):/.test(source)) {
    const { readFile } = await import("node:fs/promises");
    return readFile(/^file:/.test(source) ? new URL(source) : source);
  }
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

function run(memory, given) {
  const sizes = given[INPUTS.length] ?? null;
  if (given.length - INPUTS.length > 1 || given.length < INPUTS.length || typeof sizes !== "object") {
    throw new TypeError(`${NAME} takes ${INPUTS.map((p) => p.name).join(", ")}, got ${given.length} arguments`);
  }
  const inputs = INPUTS.map((parameter, k) => flat(given[k], parameter));
  const arrays = (!sizes && memory.again(inputs)) || memory.arrays(checked(sizes, inputs), !sizes);
  inputs.forEach((x, k) => arrays.fill(k, x));
  arrays.run();
  return arrays.results();
}

/** An argument as the array that the function takes. */
function flat(x, { name, type }) {
  if (x instanceof type || x?.[Symbol.toStringTag] === type.name) return x; // also from another window
  const number = type.name.startsWith("Big") ? BigInt : Number;
  if (["number", "bigint", "boolean"].includes(typeof x)) return type.of(number(x));
  if (Array.isArray(x)) return type.from(x.flat(Infinity), number);
  throw new TypeError(`${name} is ${x?.constructor?.name ?? x} where ${type.name} is needed`);
}

/** All sizes, those that were given and those that the lengths of the arguments tell. */
function checked(given, inputs) {
  const sizes = { ...given };
  const lengths = inputs?.map((x) => x.length);
  for (let more = Boolean(lengths); more; ) {
    more = false;
    for (const [size, solve] of FROM_LENGTHS) {
      const found = sizes[size] === undefined ? solve(lengths, sizes) : NaN;
      if (Number.isNaN(found)) continue; // it is known already, or what would tell it is not
      sizes[size] = found;
      more = true;
    }
  }
  for (const size of SIZES) {
    if (Number.isInteger(sizes[size]) && sizes[size] >= 0) continue;
    const shown = lengths ? `, and arguments of ${lengths.join(", ")} numbers do not tell it` : "";
    throw new RangeError(`${NAME} needs the size ${size} as a number, got ${sizes[size]}${shown}`);
  }
  return sizes;
}

/** The memory of one instance: arrays for some sizes at a time. */
class Memory {
  constructor(wasm) {
    this.wasm = wasm;
    this.held = null;
  }

  arrays(sizes, told = false) {
    if (!this.held || SIZES.some((size) => this.held.sizes[size] !== sizes[size])) {
      this.held = new Arrays(this, sizes);
    }
    this.held.told = told;
    this.held.look();
    return this.held;
  }

  /** The arrays of the last call, when lengths told its sizes and are the same now; else null. */
  again(inputs) {
    const { held } = this;
    if (!held?.told || inputs.some((x, k) => x.length !== held.parameters[k].length)) return null;
    held.look();
    return held;
  }
}

/**
 * Arguments and results in the memory of the module: write `inputs`, `run()`, read `outputs`, and nothing is copied.
 *
 * Memory that grows moves: take arrays from here each time, and keep none. They hold what they hold until the function
 * is called with other arguments.
 */
class Arrays {
  constructor(memory, sizes) {
    this.memory = memory;
    this.sizes = sizes;
    this.inputs = {};
    this.outputs = {};
    this.parameters = [...INPUTS, ...OUTPUTS].map(({ type, shape }) => {
      const length = shape(sizes).reduce((a, b) => a * Math.max(b, 0), 1);
      return { type, length, bytes: Math.ceil((length * type.BYTES_PER_ELEMENT) / 64) * 64 };
    });
    this.scalar = OUTPUTS.map(({ shape }) => shape(sizes).length === 0);
    this.call = memory.wasm[NAME];
    this.reserve();
  }

  reserve() {
    const { wasm } = this.memory;
    const needed = this.parameters.reduce((sum, p) => sum + p.bytes, Math.max(work(this.sizes), 0));
    const start = needed < 2 ** 32 ? wasm[`${NAME}_reserve`](needed) >>> 0 : 0;
    if (!start) throw new RangeError(`${NAME} needs ${needed} bytes of memory, which there are not`);
    let end = start;
    for (const p of this.parameters) {
      p.start = end;
      end += p.bytes;
    }
    const sizes = SIZES.map((size) => BigInt(this.sizes[size]));
    this.arguments = [...this.parameters.map((p) => p.start), ...sizes, end];
  }

  /** Find the arrays in memory, again when it has grown. */
  look() {
    const { buffer } = this.memory.wasm.memory;
    if (buffer === this.buffer) return;
    this.buffer = buffer;
    this.views = this.parameters.map(({ type, start, length }) => new type(buffer, start, length));
    INPUTS.forEach(({ name }, k) => (this.inputs[name] = this.views[k]));
    OUTPUTS.forEach(({ name }, k) => (this.outputs[name] = this.views[INPUTS.length + k]));
  }

  fill(k, x) {
    if (x.length !== this.parameters[k].length) {
      const { name, shape } = INPUTS[k];
      const needed = `[${shape(this.sizes).join(", ")}] takes ${this.parameters[k].length}`;
      throw new RangeError(`${name} has ${x.length} numbers where ${needed}`);
    }
    this.views[k].set(x);
  }

  /** Call the function; an Error says why it could not give results. */
  run() {
    const { wasm, held } = this.memory;
    if (held !== this) throw new Error(`${NAME} was called with other sizes: take its arrays again`);
    const status = this.call(...this.arguments);
    this.look();
    if (status) throw new Error(`${NAME}: ${text(wasm, wasm[`${NAME}_error`](status) >>> 0)}`);
  }

  /** @returns {Results} */
  results() {
    const found = {};
    OUTPUTS.forEach(({ name }, k) => {
      const view = this.views[INPUTS.length + k];
      found[name] = this.scalar[k] ? view[0] : view.slice();
    });
    return found;
  }
}

/** The text at an address, which a zero ends. */
function text(wasm, start) {
  const memory = new Uint8Array(wasm.memory.buffer);
  return new TextDecoder().decode(memory.subarray(start, memory.indexOf(0, start)));
}
"""


def javascript(interface: Interface, signature: Signature) -> str:
    """The text of the module: it looks for the file ``<name>.wasm`` beside itself."""
    atoms: dict[str, Size] = {name: Dim.of(f"s.{name}") for name, _, _ in signature.atoms}
    inputs = list(zip(interface.inputs, signature.inputs, strict=True))
    outputs = list(zip(interface.outputs, signature.outputs, strict=True))
    known, unknown = _solutions(signature, atoms)
    parameters = "".join(_parameter(name, spec, atoms) for name, spec in inputs)
    results = "".join(_parameter(name, spec, atoms) for name, spec in outputs)
    work = str(substitute(interface.work, atoms))
    code = "".join([parameters, results, work, *(text for _, text in known)])
    head = _HEAD.format(
        name=interface.name,
        outline=signature_text(interface, signature),
        parameters=", ".join([*interface.inputs, *([f"{{ {', '.join(unknown)} }}"] if unknown else [])]),
        results=", ".join(interface.outputs),
        notes="".join(f"\n * {line}" for line in _notes(signature)),
        properties="".join(_property(name, spec) for name, spec in outputs),
        arguments="".join(_argument(name, spec) for name, spec in inputs) + _sizes_argument(atoms, unknown),
        inputs=parameters,
        outputs=results,
        sizes=json.dumps([*atoms]),
        solutions="\n".join(["", *(f'  ["{n}", (lengths, s) => {text}],' for n, text in known), ""]),
        work=work,
        helpers="".join(text for call, text in _HELPERS.items() if call in code),
    )
    return head + _BODY


def _type(dtype: np.dtype) -> str:
    return _TYPES[dtype.name]


def _parameter(name: str, spec: ArraySpec, atoms: Mapping[str, Size]) -> str:
    """A row of the table of parameters; pairs are an axis more."""
    dtype, shape = spec
    sizes = [str(substitute(size, atoms)) for size in (*shape, *((2,) if dtype.kind == "c" else ()))]
    return f'  {{ name: "{name}", type: {_type(dtype)}, shape: (s) => [{", ".join(sizes)}] }},\n'


def _property(name: str, spec: ArraySpec) -> str:
    dtype, shape = spec
    number = "bigint" if _type(dtype).startswith("Big") else "number"
    kind = _type(dtype) if shape or dtype.kind == "c" else number
    return f" * @property {{{kind}}} {name} {array_text(dtype, shape)}\n"


def _argument(name: str, spec: ArraySpec) -> str:
    dtype, shape = spec
    kind = _type(dtype)
    number = "bigint | number" if kind.startswith("Big") else "number"
    return f" * @param {{{kind} | {'Array' if shape else number}}} {name} {array_text(dtype, shape)}\n"


def _sizes_argument(atoms: Mapping[str, Size], unknown: Sequence[str]) -> str:
    """The last argument, which is needed where the lengths of arrays do not tell the sizes."""
    if not atoms:
        return ""
    fields = ", ".join(f"{name}{'' if name in unknown else '?'}: number" for name in atoms)
    return f" * @param {{{{ {fields} }}}} {'sizes' if unknown else '[sizes]'}\n"


def _solutions(signature: Signature, atoms: Mapping[str, Size]) -> tuple[list[tuple[str, str]], list[str]]:
    """Sizes with expressions of the lengths of arguments that tell them; and those that no length tells."""
    found: list[tuple[set[str], str, str]] = []
    for place, (dtype, shape) in enumerate(signature.inputs):
        for name in dict.fromkeys(str(size) for size in shape if isinstance(size, Dim) and size.atom):
            others = [size for size in shape if str(size) != name]
            needed = {a.name for size in others if isinstance(size, Dim) for a in size.atoms()}
            if len(others) == len(shape) - 1 and name not in needed:
                factors = [
                    substitute(size, atoms) for size in (*others, *((2,) if dtype.kind == "c" else ()))
                ]
                found.append((needed, name, f"lengths[{place}]{_quotient(factors)}"))
    found.sort(key=lambda solution: len(solution[0]))
    known: set[str] = set()
    for _ in atoms:
        known |= {name for needed, name, _ in found if needed <= known}
    return [(name, text) for _, name, text in found], [name for name in atoms if name not in known]


def _quotient(factors: Sequence[Size]) -> str:
    spelled = [_factor(f) for f in factors if f != 1]
    if len(spelled) > 1:
        return f" / ({' * '.join(spelled)})"
    return "".join(f" / {text}" for text in spelled)


def _factor(size: Size) -> str:
    return str(size) if isinstance(size, int) or size.atom else f"({size})"


def _notes(signature: Signature) -> list[str]:
    """What the kinds of arrays do not say."""
    dtypes = [dtype for dtype, _ in (*signature.inputs, *signature.outputs)]
    kinds = {dtype.kind for dtype in dtypes} | {dtype.name for dtype in dtypes}
    return [text for kind, text in _NOTES.items() if kind in kinds]
