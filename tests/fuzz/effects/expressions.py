"""Random expressions of generated programs: scalars and conditions, some with effects of their own."""

from __future__ import annotations

import random

NUMBERS = ("0.5", "1.5", "-1.0", "2", "3", "0.75")


class Expressions:
    """Writes expressions with the names and features of a program."""

    random: random.Random
    features: set[str]
    indices: list[str]

    def scalar(self) -> str:
        """A float that has a name or is part of something."""
        names = ["a", "b", "c"] * 2
        if self.features & {"variables", "aliases", "rebind", "vector"}:
            names += ["v", "w"]
        if "vector" in self.features:
            names += ["u[0]", "tf.reduce_sum(u)"]
        if "aliases" in self.features:
            names += ["variables[0]", 'table["w"]', "box.v"]
        if "dicts" in self.features:
            names += ['d["a"]', 'd["b"]']
        if "objects" in self.features:
            names += ["o.a", "o.p"]
        if "operators" in self.features:
            names += ["q.a", "q[0]"]
        if "lists" in self.features:
            names += ["items[-1]", "items[0]"]
        if "globals" in self.features:
            names += ["G"]
        if "nonlocals" in self.features:
            names += ["kept"]
        if self.indices and self.random.random() < 0.5:
            names = [f"tf.cast({self.random.choice(self.indices)}, tf.float32)"]
        return self.random.choice(names)

    def value(self) -> str:
        """A float."""
        x, y, number = self.scalar(), self.scalar(), self.random.choice(NUMBERS)
        forms = [f"{x} * 0.5 + {y}", f"{x} - {number}", f"{x} * 0.25 - {y} * 0.5", f"tf.sin({x})"]
        if self.random.random() < 0.15:
            forms += [f"({x} if {self.test()} else {y})", f"({x} * 0.5 if {self.test()} else 0.75)"]
        if self.random.random() < 0.4:
            forms = self.calls(x) or forms
        return self.random.choice(forms)

    def calls(self, x: str) -> list[str]:
        """Calls with effects."""
        forms: list[str] = []
        if "helpers" in self.features:
            forms += [f"bump({x})", f"clamp({x})", f"repeat({x} * 0.25, n)", f"bump({x}) + bump(0.25)"]
        if "prints" in self.features:
            forms += [f"say({x})"]
        if "globals" in self.features:
            forms += [f"setg({x})"]
        if "random" in self.features:
            forms += [
                "draw()",
                "tf.random.uniform(())",
                "tf.random.normal(()) * 0.5",
                "tf.random.uniform((), seed=3)",
                "gen.uniform(())",
                "tf.reduce_sum(tf.random.uniform((3,)))",
                "tf.random.shuffle(s)[0]",
                "tf.random.stateless_uniform((), seed=[1, 2])",
                "tf.cast(tf.random.uniform((), maxval=5, dtype=tf.int32), tf.float32)",
                "tf.random.truncated_normal(())",
            ]
        if "objects" in self.features:
            forms += [f"o.add({x})", f"o.bump({x})"]
        if "operators" in self.features:
            forms += [f"(q + {x})", f"q({x})"]
        if "lazy" in self.features:
            forms += [f"lazy({x})"]
        if "functions" in self.features:
            forms += [f"traced({x})"]
        if "custom" in self.features:
            forms += [f"rule({x})", f"loud({x})"]
        if "nonlocals" in self.features:
            forms += [f"inner({x})"]
        return forms

    def test(self) -> str:
        """A condition, most often one that is known only at run time."""
        x, y = self.scalar(), self.scalar()
        forms = [f"{x} > {y}", f"{x} < 0.6", f"-1.0 < {x} <= {y}", "n > 2", f"{x} > 0.1"] * 2
        forms += [f"({x} > 0.0 and {y} < 1.0)", f"({x} > 1.0 or {y} > 0.2)", f"not {x} > 0.4"]
        if self.indices:
            forms += [
                f"{self.random.choice(self.indices)} % 2 == 0",
                f"{self.random.choice(self.indices)} < 2",
            ] * 3
        if self.random.random() < 0.15:
            forms += ["True", "s.shape[0] > 2"]
        if "variables" in self.features and self.random.random() < 0.3:
            forms += [f"positive({x})", f"(positive({x}) and positive({y}))", f"(positive({x}) or {y} > 0.3)"]
        return self.random.choice(forms)
