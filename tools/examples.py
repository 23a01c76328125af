"""The examples by hand in the ways through the labs (labs/NN_name/PATH.md): each function computes one and yields its text,
paragraph by paragraph. tools/course writes it into the page."""

from fractions import Fraction


def printed(value):
    """A number as the pages show it: 3, −1/2."""
    return str(value).replace("-", "−")


def listed(values):
    return ", ".join(map(printed, values))


def vector(values):
    return f"({listed(values)})"


def bracketed(value):
    return f"({printed(value)})" if value < 0 or value.denominator > 1 else printed(value)


def dot(u, v):
    return sum(x * y for x, y in zip(u, v, strict=True))


def table(heads, rows):
    """The first column at the left, the others at the right."""
    lines = [[*heads], *([printed(cell) for cell in one] for one in rows)]
    lines = [f"| {' | '.join(one)} |" for one in lines]
    return "\n".join([lines[0], "|---|" + "---:|" * (len(heads) - 1), *lines[1:]])


def up(a, b):
    """a / b, rounded up."""
    return -(-a // b)


def saxpy():
    n, threads = 10, 4
    share, more = divmod(n, threads)
    begins = [t * share + min(t, more) for t in range(threads + 1)]
    blocks = up(n, threads)
    yield f"n = {n} elements, P = {threads} threads. {n} = {threads} × {share} + {more}, so {more} threads have an element more:"
    yield table(["thread", "its block (`cpu_blocks`)", "every P-th element (`cpu_interleaved`)"],
                [[t, listed(range(begins[t], begins[t + 1])), listed(range(t, n, threads))] for t in range(threads)])
    yield (f"On a GPU, in blocks of {threads} threads: {n} / {threads}, rounded up, are {blocks} blocks, or {blocks * threads} threads. "
           f"Thread 1 of block {blocks - 1} has the index {blocks - 1} × {threads} + 1 = {(blocks - 1) * threads + 1}. "
           f"The last {blocks * threads - n} threads have no element.")
    yield (f"A *grid stride* is the last column: with {threads} threads in all, thread 1 takes {listed(range(1, n, threads))}. "
           f"At first the threads take {listed(range(threads))} together, which are neighbours; with blocks they take "
           f"{listed(begins[:-1])}, which are not.")
    nanoseconds = 12 * n // 4
    yield (f"Bytes: 12 × {n} = {12 * n}. A memory that moves 4 bytes per nanosecond needs at least {nanoseconds} ns, and {2 * n} "
           f"operations in {nanoseconds} ns are {printed(Fraction(2 * n, nanoseconds))} GFLOP/s.")


def reduction():
    start = [5, 2, 8, 1, 9, 3, 4, 6]
    x, n, step = list(start), len(start), 1
    rows = [["at first", "", *x]]
    while step < n:
        working = range(0, n, 2 * step)
        for i in working:
            x[i] += x[i + step]
        rows.append([f"s = {step}", listed(working), *(f"**{value}**" if i in working else value for i, value in enumerate(x))])
        step *= 2
    steps = len(rows) - 1
    yield (f"A group of {n} items, with interleaved addressing. At step s, the items in the second column add the number s places "
           f"after their own:")
    yield table(["", "items that work", *(f"x[{i}]" for i in range(n))], rows)
    yield (f"{steps} steps with {n - 1} additions; a loop has as many, one after the other. x[0] is the sum, the rest is of no use any "
           f"more. At step 2 item 4 reads x[6], which item 6 has written at step 1: so all items wait between two steps.")
    bounds = [f"{d} × 2⁻²⁴ × {sum(start)} = {d * sum(start) / 2**24 * 1e6:.1f} × 10⁻⁶" for d in (steps, n - 1)]
    yield (f"Rounding: in the tree a number goes through at most {steps} additions, in the loop through {n - 1}. So with floats the sum "
           f"is off by at most {bounds[0]}, or {bounds[1]}. (Here by nothing: whole numbers as small as these are not rounded.)")


def matmul():
    m, k, n, side = 20, 50, 37, 16
    across, down = up(n, side), up(m, side)
    x, y, block_x, block_y = 4, 3, across - 1, down - 1
    j, i = block_x * side + x, block_y * side + y
    yield f"A is {m} × {k}, B is {k} × {n}, so C is {m} × {n}. The blocks have {side} × {side} threads."
    yield "\n".join([
        f"- The grid: {n} / {side}, rounded up, are {across} blocks across, {m} / {side} are {down} down. These {across * down} blocks have",
        f"  {across * down * side**2} threads, for {m * n} elements.",
        f"- Thread ({x}, {y}) of block ({block_x}, {block_y}): column j = {block_x} × {side} + {x} = {j}, row i = {block_y} × {side} + {y} = {i}.",
        f"- It reads row {i} of A: the numbers {i} × {k} = {i * k}, {i * k + 1}, {i * k + 2}, ... And column {j} of B: the numbers {j}, {j + n},",
        f"  {j + 2 * n}, ..., each {n} further. It writes number {i} × {n} + {j} = {i * n + j} of C.",
        f"- Its left neighbour, thread ({x - 1}, {y}), reads the same numbers of A, and {j - 1}, {j - 1 + n}, {j - 1 + 2 * n}, ... of B:",
        "  at every step the number beside.",
        f"- Its right neighbour, thread ({x + 1}, {y}), has column {j + 1}. C has none, so it does nothing."])
    yield "The loads of a multiply-add, and the share of the peak that the formula $1/(4L)$ allows:"
    yield table(["elements per thread", "numbers loaded", "multiply-adds", "L", "share"],
                [[name, loaded, made, Fraction(loaded, made), f"{100 * made / (4 * loaded):g} %"]
                 for name, loaded, made in (("1, as `cuda_grid`", 2, 1), ("2 × 2", 4, 4), ("4 × 4", 8, 16))])
    yield ("The formula is one for loads of single words from shared memory. `cuda_grid` loads from global memory, through the caches, "
           "which is no faster.")


def spmv():
    dense, x, i = [[0, 1, 2, 0], [0, 3, 0, 4], [5, 0, 0, 0]], [1, 2, 3, 4], 1
    row, column, value = zip(*((r, j, v) for r, line in enumerate(dense) for j, v in enumerate(line) if v), strict=True)
    n, m, z = len(dense), len(x), len(value)
    start = [sum(r < begin for r in row) for begin in range(n + 1)]
    total, rows = 0, []
    for k in range(start[i], start[i + 1]):
        total += value[k] * x[column[k]]
        rows.append([k, column[k], value[k], x[column[k]], value[k] * x[column[k]], total])
    yield (f"The matrix of the lecture times x = {vector(x)}. Row {i} begins at `row_start[{i}]` = {start[i]} and ends before "
           f"`row_start[{i + 1}]` = {start[i + 1]}:")
    yield table(["entry k", "`column[k]`", "`value[k]`", "`x[column[k]]`", "product", "sum"], rows)
    yield f"So y[{i}] = {total}; in all, y = {vector([dot(line, x) for line in dense])}. The zeros are neither read nor multiplied."
    width = max(b - a for a, b in zip(start, start[1:]))
    yield (f"Bytes in float, with n = {n}, m = {m}, z = {z}, w = {width}: dense {n} × {m} × 4 = {n * m * 4}; CSR {z} × 8 + 4 × {n + 1} = "
           f"{z * 8 + 4 * (n + 1)}; COO {z} × 12 = {z * 12}; ELL {n} × {width} × 8 = {n * width * 8}, with {n * width - z} slot of padding. "
           f"So small a matrix gains nothing: its zeros are too few.")


def streams():
    strips, times = 3, {"up": 2, "kernel": 1, "down": 2}  # the milliseconds of a strip

    def run(count):
        """The commands of all strips on so many streams: a row for each strip, and the end."""
        engine, stream, rows = dict.fromkeys(times, 0), [0] * count, []  # when each is free
        for strip in range(strips):
            cells = []
            for stage, length in times.items():
                begin = max(engine[stage], stream[strip % count])
                engine[stage] = stream[strip % count] = begin + length
                cells.append(f"{begin} to {begin + length}")
            rows.append([strip, "ABC"[strip % count], *cells])
        return rows, max(stream)

    one, slowest = sum(times.values()), max(times.values())
    (rows, with_two), (_, with_three) = run(2), run(3)
    yield (f"{strips} strips, each with {times['up']} ms up, {times['kernel']} ms in the kernel and {times['down']} ms down; a copy engine for "
           f"each direction. Strips 0 and 2 are in stream A, strip 1 is in B. A command begins when its engine is free and the command before "
           f"it in its stream has ended:")
    yield table(["strip", "stream", "up, ms", "kernel, ms", "down, ms"], rows)
    yield (f"One stream takes {strips} × {one} = {run(1)[1]} ms, two take {with_two} ms. Strip 2 waits in stream A until strip 0 is down, although "
           f"the engine is free from {2 * times['up']} ms on. In a third stream it goes up then, and all ends at {with_three} ms. This is the "
           f"model without pauses, $t_{{strips}}(3)$ = {strips * one}/{strips} + {strips - 1} × {slowest} = "
           f"{one + (strips - 1) * slowest}. The bound is {strips} × {slowest} = {strips * slowest} ms.")


def tridiagonal():
    n, nothing = 4, ""
    a, b, c, d = [nothing, *[Fraction(-1)] * 3], [Fraction(2)] * n, [*[Fraction(-1)] * 3, nothing], [Fraction(1)] * n
    heads, step = ["equation", "a", "b", "c", "d"], 1
    yield "Four equations. Row 0 has no neighbour before it, row 3 none after it:"
    yield table(heads, [[i, a[i], b[i], c[i], d[i]] for i in range(n)])
    while 2 * step <= n:
        words, new = [], {}
        for i in range(2 * step - 1, n, 2 * step):
            left, right = i - step, i + step
            alpha = a[i] / b[left]
            row = [-alpha * a[left] if a[left] else nothing, b[i] - alpha * c[left], nothing, d[i] - alpha * d[left]]
            words.append(f"Equation {i}: α = {bracketed(a[i])}/{bracketed(b[left])} = {printed(alpha)},")
            if right < n:
                beta = c[i] / b[right]
                row = [row[0], row[1] - beta * a[right], -beta * c[right] if c[right] else nothing, row[3] - beta * d[right]]
                words.append(f"β = {bracketed(c[i])}/{bracketed(b[right])} = {printed(beta)}.")
            else:
                words.append(f"and no equation {right}.")
            new[i] = row
        for i, row in new.items():
            a[i], b[i], c[i], d[i] = row
        yield f"**Reduction with s = {step}.** {' '.join(words)} After it:"
        yield table(heads, [[i, *row] for i, row in new.items()])
        step *= 2
    x, words = [None] * n, []
    while step:
        for i in range(step - 1, n, 2 * step):
            known = [(factor, j) for factor, j in ((a[i], i - step), (c[i], i + step)) if factor and 0 <= j < n]
            x[i] = (d[i] - sum(factor * x[j] for factor, j in known)) / b[i]
            terms = "".join(f" − {bracketed(factor)} · {printed(x[j])}" for factor, j in known)
            words.append(f"$x_{i}$ = ({printed(d[i])}{terms}) / {bracketed(b[i])} = {printed(x[i])}")
        step //= 2
    yield f"**Back substitution**, in the reverse order: {'; '.join(words)}."
    yield (f"x = {vector(x)}. Put it into row 1 as it was at first: "
           f"−{printed(x[0])} + 2 · {printed(x[1])} − {printed(x[2])} = {printed(-x[0] + 2 * x[1] - x[2])}.")


def lu():
    matrix = [[Fraction(v) for v in line] for line in ([1, 4, 6], [4, 8, 4], [2, 8, 8])]
    n, order, rows = len(matrix), list(range(len(matrix))), [list(line) for line in matrix]

    def shown():
        return table(["row of A", *(f"column {k}" for k in range(n))], [[order[j], *rows[j]] for j in range(n)])

    yield shown()
    for i in range(n - 1):
        best = max(range(i, n), key=lambda j: abs(rows[j][i]))
        rows[i], rows[best], order[i], order[best] = rows[best], rows[i], order[best], order[i]
        divided, changed = [], []
        for j in range(i + 1, n):
            divided.append(f"{printed(rows[j][i])} / {printed(rows[i][i])} = {printed(rows[j][i] / rows[i][i])}")
            rows[j][i] /= rows[i][i]
            for k in range(i + 1, n):
                new = rows[j][k] - rows[j][i] * rows[i][k]
                changed.append(f"{printed(rows[j][k])} − {printed(rows[j][i])} · {printed(rows[i][k])} = {printed(new)}")
                rows[j][k] = new
        yield (f"**Step {i}.** The largest element of column {i} is {printed(rows[i][i])}: its row moves to place {i}, with what L has in it, and the "
               f"one from there takes its place. The column below it is divided: {'; '.join(divided)}. Then the rest changes: {'; '.join(changed)}.")
        yield shown()
    lower = [rows[n - 1][k] for k in range(n - 1)] + [Fraction(1)]
    upper = [[rows[k][c] if c >= k else Fraction(0) for c in range(n)] for k in range(n)]
    product = [sum(lower[k] * upper[k][c] for k in range(n)) for c in range(n)]
    yield (f"U is on and above the diagonal, L is below it; the ones on L's diagonal are not stored. The first column is P. The last row of L U "
           f"is {' + '.join(f'{printed(factor)} · {vector(line)}' for factor, line in zip(lower, upper))} = {vector(product)}: row {order[-1]} of A.")


def fdtd():
    n, half, at, sources = 4, Fraction(1, 2), 1, [8, 4]
    h, e = [Fraction(0)] * n, [Fraction(0)] * (n + 1)
    yield (f"A row of {n} cells, in which nothing depends on y: $E_x$ is 0. $H_z$ is in the cells, $E_y$ on the {n + 1} edges at their "
           f"left and right. The factor of each difference is {half}. The source in cell {at} is hard: it sets $H_z$ to {sources[0]}, then to "
           f"{sources[1]}. Edges 0 and {n} lie on a conductor, so $E_y$ stays 0 there.")
    yield "    edges  0     1     2     3     4\n    cells  |  0  |  1  |  2  |  3  |"
    for step, source in enumerate(sources, 1):
        old_h, old_e = h, e
        h = [h[i] - half * (e[i + 1] - e[i]) for i in range(n)]
        h[at] = Fraction(source)
        e = [e[0], *(e[i] - half * (h[i] - h[i - 1]) for i in range(1, n)), e[n]]
        yield (f"**Step {step}.** First all of $H_z$, from the edges; in cell 2: {printed(old_h[2])} − {half} · ({printed(old_e[3])} − "
               f"{bracketed(old_e[2])}) = {printed(h[2])}. Then $E_y$ from the new cells; on edge 1: {printed(old_e[1])} − {half} · ({printed(h[1])} − "
               f"{bracketed(h[0])}) = {printed(e[1])}.")
        yield table(["", *map(str, range(n + 1))], [["$H_z$ in cell", *h, ""], ["$E_y$ on edge", *e]])


def cg():
    a, b = [[4, 1], [1, 3]], [Fraction(1), Fraction(2)]
    x, r, p, columns = [Fraction(0)] * 2, b, b, []
    for _ in b:
        q = [dot(line, p) for line in a]
        old = dot(r, r)
        alpha = old / dot(p, q)
        x = [v + alpha * w for v, w in zip(x, p)]
        r = [v - alpha * w for v, w in zip(r, q)]
        beta = dot(r, r) / old
        next_p = [v + beta * w for v, w in zip(r, p)]
        columns.append([vector(q), dot(p, q), alpha, vector(x), vector(r), dot(r, r), beta, vector(next_p)])
        p = next_p
    yield (f"A has the rows {vector(a[0])} and {vector(a[1])}, b = {vector(b)}, and x begins as (0, 0). So r = b, and without a preconditioner "
           f"z = r; p begins as r, with r · r = {printed(dot(b, b))}.")
    names = ["q = A p", "p · q", "α = r · r / (p · q)", "x + α p", "r − α q", "the new r · r", "β", "r + β p"]
    yield table(["step", "", "iteration 1", "iteration 2"],
                [[number, name, *values] for number, (name, *values) in enumerate(zip(names, *columns, strict=True), 1)])
    yield (f"Two iterations have solved two equations. Iteration 2 went along p = {columns[0][7]}, and not along the residual {columns[0][4]}, "
           f"as steepest descent does; that would not have arrived.")


EXAMPLES = {one.__name__: one for one in (saxpy, reduction, matmul, spmv, streams, tridiagonal, lu, fdtd, cg)}
