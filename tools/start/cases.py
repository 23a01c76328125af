"""With which sizes and numbers each puzzle is launched, and what comes out. The picture shows the first launch of each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One launch."""

    items: list[int]  # along x, or along x and y; in CUDA threads in blocks
    group: list[int]
    arguments: dict[str, list | int]  # by name, in order; None: nobody has written this element
    expected: dict[str, list[int]]  # arrays that the kernel changes

    @property
    def words(self):
        size = lambda numbers: " x ".join(map(str, numbers))
        return f"{size(self.items)} items" + (f" in groups of {size(self.group)}" if self.items != self.group else "")


def numbers(n):
    return [(37 * i + 11) % 100 for i in range(n)]


def twice(items, group, n, gives_n=False):
    a = numbers(n)
    return Case([items], [group], {"a": a, "b": [None] * n} | ({"n": n} if gives_n else {}), {"b": [2 * one for one in a]})


def matrix(width, height, group):
    b = [10 * y + x for y in range(height) for x in range(width)]
    return Case([width, height], group, {"b": [None] * len(b), "width": width}, {"b": b})


def reversed_groups(n):
    a = numbers(n)
    return Case([n], [8], {"a": a, "b": [None] * n}, {"b": [a[i // 8 * 8 + 7 - i % 8] for i in range(n)]})


def count(n):
    return Case([n], [8], {"count": [0]}, {"count": [n]})


def reduction(a):
    return Case([8], [8], {"a": a, "sum": [None]}, {"sum": [sum(a)]})


CASES = {  # by the number of the puzzle
    1: [twice(8, 8, 8), twice(16, 8, 16)],
    2: [twice(16, 16, 10, True), twice(32, 16, 17, True), twice(16, 16, 16, True)],
    3: [matrix(6, 4, [6, 4]), matrix(4, 6, [2, 3])],
    4: [twice(4, 4, 10, True), twice(8, 4, 21, True), twice(8, 4, 3, True)],
    5: [reversed_groups(8), reversed_groups(24)],
    6: [count(8), count(24), *[count(1 << 25)] * 8],  # the many: so that updates are lost where no tool sees the race
    7: [reduction(numbers(8)), reduction([-one for one in numbers(8)])],
    8: [twice(32, 32, 128)],
}
