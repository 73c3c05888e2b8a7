"""The table of the comparison on a GPU."""


def milliseconds(seconds):
    if seconds is None:
        return "-"
    digits = 3 if seconds < 0.01 else 2 if seconds < 0.1 else 1
    return f"{seconds * 1e3:.{digits}f}"


def gibibytes(number):
    return "-" if number is None else f"{number / 2**30:.2f}"


def ratio_text(ratio):
    return "-" if ratio is None else f"{ratio:.2f}"


def cells(row, modes):
    failed = {error.split(" ")[0] for error in row["errors"]}
    measured = [milliseconds(row["peer_seconds"].get(mode)) if mode not in failed or mode in row["peer_seconds"]
                else "failed" for mode in modes]
    against = {"": "best peer", "pytorch": "best pytorch", "peak": "of peak"}.get(row["against"], row["against"])
    return [row["case"], row["precision"], milliseconds(row["trainyard_seconds"]), *measured,
            row["best_peer"] or "-", ratio_text(row["ratio"]),
            row["best_any_precision"] or "-", ratio_text(row["ratio_any_precision"]),
            f"{ratio_text(row['score'])} {against}", f"{row['floor']:.2f}",
            {None: "?", True: "yes", False: "NO"}[row["met"]],
            gibibytes(row["trainyard_memory_bytes"]), gibibytes(row["least_peer_memory_bytes"])]


def print_table(rows, modes):
    """Times of a step in milliseconds; ratios are the peer's time over ours; peak memory of the GPU, ours and the
    least of a peer."""
    head = ["case", "precision", "trainyard", *modes, "best peer", "ratio", "best of any precision", "ratio",
            "judged by", "floor", "met", "GiB", "least peer GiB"]
    lines = [head, *(cells(row, modes) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    left = {0, 1, len(modes) + 3, len(modes) + 5, len(modes) + 7}
    for line in lines:
        print("  ".join(text.ljust(width) if column in left else text.rjust(width)
                        for column, (text, width) in enumerate(zip(line, widths))).rstrip())
    for row in rows:
        problems = row["errors"] + ([f"trainyard {row['trainyard_error']}"] if row["trainyard_error"] else [])
        for problem in problems:
            print(f"{row['case']} {row['precision']}: {problem}")
