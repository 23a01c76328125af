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


def numbered(puzzle):
    """A puzzle's number, with which its file begins."""
    return int(puzzle["file"].partition("_")[0])


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


def sums_of_groups(n):
    a = numbers(n)
    return Case([n], [32], {"a": a, "b": [None] * n}, {"b": [sum(a[i // 32 * 32:i // 32 * 32 + 32]) for i in range(n)]})


def scan(n):
    a = numbers(n)
    return Case([n], [32], {"a": a, "b": [None] * n}, {"b": [sum(a[i // 32 * 32:i + 1]) for i in range(n)]})


def sums_of_rows(sign):
    a = [sign * one for one in numbers(32 * 32)]
    return Case([32], [32], {"a": a, "sums": [None] * 32}, {"sums": [sum(a[32 * i:32 * i + 32]) for i in range(32)]})


def product(width):
    a, b = numbers(width * width), [one - 50 for one in numbers(2 * width * width)[width * width:]]
    c = [sum(a[y * width + k] * b[k * width + x] for k in range(width)) for y in range(width) for x in range(width)]
    return Case([width, width], [4, 4], {"a": a, "b": b, "c": [None] * len(c), "width": width}, {"c": c})


def reversed_pieces(groups, pieces):
    a = numbers(64 * groups * pieces)
    b = [a[i // 64 * 64 + 63 - i % 64] for i in range(len(a))]
    return Case([64 * groups], [64], {"a": a, "b": [None] * len(a), "pieces": pieces}, {"b": b})


def neighbours(n):
    a = b = numbers(n)
    for _ in range(3):
        b = [one + (b[i + 1] if i % 8 < 7 else 0) for i, one in enumerate(b)]
    return Case([n], [8], {"a": a, "b": [None] * n}, {"b": b})


def largest(a):
    return Case([32], [32], {"a": a, "largest": [None], "n": len(a)}, {"largest": [max(a)]})


CASES = {  # by the number of the puzzle
    1: [twice(8, 8, 8), twice(16, 8, 16)],
    2: [twice(16, 16, 10, True), twice(32, 16, 17, True), twice(16, 16, 16, True)],
    3: [matrix(6, 4, [6, 4]), matrix(4, 6, [2, 3])],
    4: [twice(4, 4, 10, True), twice(8, 4, 21, True), twice(8, 4, 3, True)],
    5: [reversed_groups(8), reversed_groups(24)],
    6: [count(8), count(24), *[count(1 << 25)] * 8],  # the many: so that updates are lost where no tool sees the race
    7: [reduction(numbers(8)), reduction([-one for one in numbers(8)])],
    8: [twice(32, 32, 128)],
    9: [sums_of_groups(32), sums_of_groups(96)],
    10: [scan(32), scan(96)],
    11: [sums_of_rows(1), sums_of_rows(-1)],
    12: [product(8), product(4), product(12)],
    13: [reversed_pieces(1, 3), reversed_pieces(2, 1), reversed_pieces(2, 6)],
    14: [twice(32, 32, 128)],
    15: [neighbours(8), neighbours(24)],
    16: [largest(numbers(24)), largest(numbers(32)), largest([*numbers(16), 3000]), largest([4000])],
}
