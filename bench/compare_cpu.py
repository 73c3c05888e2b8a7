"""Times Trainyard against PyTorch on the CPU, one after the other, and prints medians and ratios.
With --device cuda on a GPU, against more peers: see bench/compare --device cuda --help.

Exit codes: 0 every known floor met; 1 the comparison could not be made;
2 bad arguments; 3 compared and slower than a floor asks; 130 interrupted."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from compare_tools import REPOSITORY, CannotCompare, at_least_one, check_program, log

PEER_SCRIPT = REPOSITORY / "bench" / "peers" / "pytorch_train.py"
OPTIMIZERS = {"deepmnist": "adam", "cifarnet": "sgd", "resnet20": "momentum", "fc": "adam",
              "lstm": "sgd", "transformer": "adamw", "gpt_char": "adamw", "vit": "adamw"}
# What our side calls otherwise: a case may be one network of a generated family.
OUR_NETWORKS = {"lstm": "rnn"}
# The recipe of cifarnet keeps moving averages of the weights; the peer does so by default.
OUR_OPTIONS = {"cifarnet": ["--ema", "0.9999"],
               "lstm": ["--cell", "lstm", "--layers", "2", "--hidden", "512", "--length", "32"],
               # PyTorch's AdamW decays where nobody says otherwise.
               **dict.fromkeys(("transformer", "gpt_char", "vit"), ["--weight-decay", "0.01"])}
# Networks that PyTorch can run with channels last. Nobody gets that without asking, but it is its best.
TUNABLE = {"deepmnist", "cifarnet", "resnet20"}
# How many times faster than PyTorch as people write it we have to be.
FLOORS = {"deepmnist:50": 2.2, "deepmnist:512": 1.6, "cifarnet:128": 2.0,
          "resnet20:128": 1.4, "fc:128": 1.3, "lstm:64": 1.3, "transformer:12": 2.5, "gpt_char:4": 1.5,
          "vit:64": 1.5}
PACKAGES = ["python3-torch", "libopenblas0-openmp"]
INSTALL_HINT = ("install it with 'apt-get install " + " ".join(PACKAGES)
                + "' or run 'bench/compare --install'")
WARMUP_SECONDS = 0.5
PROBE_STEPS = 5

# The reference BLAS would slow PyTorch down several times and flatter us.
TORCH_CHECK = """
try:
    import torch
except ImportError:
    print("missing")
else:
    torch.mm(torch.ones(8, 8), torch.ones(8, 8))
    print("slow-blas" if "/blas/libblas.so" in open("/proc/self/maps").read() else torch.__version__)
"""


def parse_case(text):
    network, _, batch = text.strip().partition(":")
    if network not in OPTIMIZERS or not batch.isdecimal() or int(batch) < 1:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not NETWORK:BATCH with a network of {', '.join(OPTIMIZERS)}")
    return network, int(batch)


def parse_cases(text):
    return [parse_case(case) for case in text.split(",")]


def available_cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=at_least_one, default=available_cores(),
                        help="for both sides (default: every core)")
    parser.add_argument("--rounds", type=at_least_one, default=5)
    parser.add_argument("--cases", type=parse_cases, default=parse_cases(",".join(FLOORS)),
                        help="NETWORK:BATCH,... (default: " + ",".join(FLOORS) + ")")
    parser.add_argument("--burst-seconds", type=float, default=4.0,
                        help="how long one side runs per round (default: 4)")
    parser.add_argument("--trainyard", type=Path, default=REPOSITORY / "build/release/trainyard")
    parser.add_argument("--peer-options", default="", metavar="OPTIONS",
                        help="more options for the peer, as in --peer-options='--channels-last'")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--install", action="store_true",
                        help="install PyTorch and OpenBLAS with apt-get, and end")
    args = parser.parse_args(arguments)
    if not 0 < args.burst_seconds <= 600:
        parser.error("--burst-seconds must be above 0 and at most 600")
    args.trainyard = args.trainyard.absolute()
    return args


def install():
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    for command in (["update"], ["install", "-y", *PACKAGES]):
        try:
            # apt-get talks on stderr, so that stdout stays the comparison's own.
            failed = subprocess.run([*as_root, "apt-get", *command], stdout=sys.stderr).returncode
        except OSError as error:
            raise CannotCompare(f"cannot run apt-get: {error}")
        if failed:
            raise CannotCompare(f"'apt-get {' '.join(command)}' failed")


def find_peer_python():
    """The interpreter that has PyTorch; Debian's package belongs to /usr/bin/python3."""
    problem = "missing"
    for candidate in ("/usr/bin/python3", shutil.which("python3")):
        if not candidate or not os.access(candidate, os.X_OK):
            continue
        check = subprocess.run([candidate, "-c", TORCH_CHECK], capture_output=True, text=True)
        answer = check.stdout.strip() if check.returncode == 0 else "missing"
        if answer not in ("missing", "slow-blas"):
            return candidate, answer
        if answer == "slow-blas":
            problem = answer
    if problem == "slow-blas":
        raise CannotCompare("PyTorch runs on the slow reference BLAS, not on OpenBLAS; " + INSTALL_HINT)
    raise CannotCompare("PyTorch is not installed; " + INSTALL_HINT)


def run_json(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise CannotCompare(f"cannot run {command[0]}: {error.strerror}")
    if done.returncode != 0:
        reason = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise CannotCompare(f"'{' '.join(command)}' ended with {done.returncode}: {reason}")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise CannotCompare(f"'{' '.join(command)}' printed no JSON object")


class Side:
    """One of the two programs, on one case."""

    def __init__(self, name, command, steps_key):
        self.name = name
        self.command = command
        self.steps_key = steps_key
        self.rounds = []

    def run(self, steps, warmup):
        result = run_json([*self.command, "--steps", str(steps), "--warmup", str(warmup)])
        seconds = result.get(self.steps_key) if isinstance(result, dict) else None
        if not seconds or "parameters" not in result:
            raise CannotCompare(f"{self.name} reported no '{self.steps_key}' or no 'parameters'")
        return result, seconds

    def probe(self, burst_seconds):
        result, seconds = self.run(PROBE_STEPS, 1)
        step = max(statistics.median(seconds), 1e-6)
        self.steps = max(5, round(burst_seconds / step))
        self.warmup = max(2, round(WARMUP_SECONDS / step))
        return result

    def run_round(self):
        self.rounds.append(self.run(self.steps, self.warmup)[1])
        return statistics.median(self.rounds[-1])

    def pooled_median(self):
        return statistics.median(second for seconds in self.rounds for second in seconds)


def require_same_work(case, ours, theirs):
    for key in ("parameters", "batch", "threads"):
        if ours.get(key) != theirs.get(key):
            raise CannotCompare(f"{case}: the two sides differ in {key}: "
                                f"trainyard {ours.get(key)}, pytorch {theirs.get(key)}")


def compare_case(args, python, network, batch):
    case = f"{network}:{batch}"
    optimizer = OPTIMIZERS[network]
    same = ["--batch", str(batch), "--threads", str(args.threads), "--optimizer", optimizer]
    ours = Side("trainyard", [str(args.trainyard), "bench", "--network", OUR_NETWORKS.get(network, network),
                              *same, *OUR_OPTIONS.get(network, []), "--json"], "raw_step_seconds")
    peer = [python, str(PEER_SCRIPT), "--network", network, *same, *args.peer_options.split()]
    theirs = Side("pytorch", peer, "step_seconds")
    sides = [ours, theirs]
    if network in TUNABLE and "--channels-last" not in peer:
        sides.append(Side("tuned", [*peer, "--channels-last"], "step_seconds"))
    log(f"{case}: probing")
    our_probe = ours.probe(args.burst_seconds)
    for side in sides[1:]:
        require_same_work(case, our_probe, side.probe(args.burst_seconds))

    ratios = []
    for number in range(args.rounds):
        # Whoever goes first meets the cooler machine, so the turns change.
        order = sides[number % len(sides):] + sides[:number % len(sides)]
        median = {side.name: side.run_round() for side in order}
        ratios.append(median["pytorch"] / median["trainyard"])
        log(f"{case}: round {number + 1}/{args.rounds}: "
            + ", ".join(f"{side.name} {median[side.name] * 1e3:.2f} ms" for side in sides)
            + f", ratio {ratios[-1]:.2f}")

    ratio = theirs.pooled_median() / ours.pooled_median()
    tuned = sides[2].pooled_median() if len(sides) > 2 else None
    floor = FLOORS.get(case)
    return {
        "case": case, "optimizer": optimizer, "parameters": our_probe["parameters"],
        "trainyard_median_ms": ours.pooled_median() * 1e3,
        "pytorch_median_ms": theirs.pooled_median() * 1e3,
        "trainyard_steps": ours.steps, "pytorch_steps": theirs.steps,
        "ratio": ratio, "round_ratios": ratios,
        "ratio_min": min(ratios), "ratio_max": max(ratios),
        "pytorch_channels_last_median_ms": None if tuned is None else tuned * 1e3,
        "ratio_channels_last": None if tuned is None else tuned / ours.pooled_median(),
        "floor": floor, "met": None if floor is None else ratio >= floor,
    }


def print_table(results):
    print(f"{'case':<16}{'trainyard ms':>14}{'pytorch ms':>14}{'ratio':>8}  "
          f"{'[min..max]':<16}{'floor':>6}  {'met':<4}{'channels last ms':>17}{'ratio':>8}")
    for r in results:
        spread = f"[{r['ratio_min']:.2f}..{r['ratio_max']:.2f}]"
        floor = "-" if r["floor"] is None else f"{r['floor']:.1f}"
        met = {None: "-", True: "yes", False: "NO"}[r["met"]]
        tuned = r["pytorch_channels_last_median_ms"]
        last = f"{tuned:>17.2f}{r['ratio_channels_last']:>8.2f}" if tuned else ""
        print(f"{r['case']:<16}{r['trainyard_median_ms']:>14.2f}{r['pytorch_median_ms']:>14.2f}"
              f"{r['ratio']:>8.2f}  {spread:<16}{floor:>6}  {met:<4}{last}")


def main(arguments):
    args = parse_arguments(arguments)
    if args.install:
        install()
        return 0
    check_program(args.trainyard)
    python, version = find_peer_python()
    results = [compare_case(args, python, network, batch) for network, batch in args.cases]
    if args.json:
        print(json.dumps({"threads": args.threads, "rounds": args.rounds, "pytorch": version,
                          "peer_options": args.peer_options, "cases": results}, indent=2))
    else:
        print(f"{args.threads} threads, {args.rounds} rounds, PyTorch {version} {args.peer_options}".rstrip())
        print_table(results)
    return 3 if any(r["met"] is False for r in results) else 0
