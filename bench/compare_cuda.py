"""Times Trainyard on a GPU against PyTorch and JAX, each in all its modes, and prints one table.

A mode is pytorch:eager, fused, graph, compile or autotune, or jax:jit, loop or tuned; bench/peers says what each does.
First every case is measured in the modes that may decide its floor, then the others while the time budget lasts. Ours
runs before and after each peer. A mode that fails is shown with its error.

Exit codes: 0 every floor met; 1 the comparison could not be made; 2 bad arguments; 3 compared and slower than
a floor asks, or a floor could not be judged; 130 interrupted."""
import argparse
import json
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from compare_table import print_table
from compare_tools import REPOSITORY, CannotCompare, at_least_one, check_program, log

PEERS = {"pytorch": "pytorch_cuda.py", "jax": "jax_cuda.py"}
MODES = ("pytorch:eager", "pytorch:fused", "pytorch:graph", "pytorch:compile", "pytorch:autotune",
         "jax:jit", "jax:loop", "jax:tuned")
# By case, or by network: the modes that may decide its floor, which are run before all others.
FIRST = {"deepmnist": ("jax:loop", "jax:tuned"), "cifarnet": ("pytorch:graph",),
         "resnet50": ("pytorch:compile",), "fc": ("pytorch:compile",), "fc:64": ("pytorch:graph",),
         "lstm": ("pytorch:graph",), "transformer": ("pytorch:graph", "pytorch:compile"),
         "gpt_char": ("pytorch:compile",), "gpt2": ("pytorch:compile",), "vit_s16": ("pytorch:compile",)}
# What our side calls otherwise: a case may be one network of a generated family.
OUR_NETWORKS = {"lstm": "rnn"}
PYTORCH = tuple(mode for mode in MODES if mode.startswith("pytorch"))
UNTUNED = tuple(mode for mode in MODES if mode != "jax:tuned")


@dataclass(frozen=True)
class Case:
    network: str
    batch: int
    precisions: tuple
    optimizer: str
    floor: float
    # Who the floor is against: every peer, those whose names begin so, or the probed peak of matrix products.
    against: str
    our_steps: int
    modes: tuple = MODES
    our_options: tuple = ()
    sizes: tuple = ()  # options that both sides take

    def first_modes(self):
        return FIRST.get(f"{self.network}:{self.batch}") or FIRST[self.network]

    def other_modes(self):
        return tuple(mode for mode in self.modes if mode not in self.first_modes())


def small(network, batch, optimizer, floor, against, steps, our_options=()):
    return Case(network, batch, ("tf32", "bf16"), optimizer, floor, against, steps, MODES, our_options)


def resnet50(batch, floor, steps):
    return Case("resnet50", batch, ("bf16",), "momentum", floor, "pytorch", steps,
                UNTUNED)


# PyTorch's AdamW decays where nobody says otherwise.
DECAY = ("--weight-decay", "0.01")

CASES = {
    "deepmnist:50": small("deepmnist", 50, "adam", 2.0, "", 5000),
    "deepmnist:512": small("deepmnist", 512, "adam", 1.5, "", 1500),
    "deepmnist:4096": small("deepmnist", 4096, "adam", 1.5, "", 300),
    "cifarnet:128": small("cifarnet", 128, "sgd", 3.0, "pytorch:graph", 2000,
                          ("--lr", "0.1", "--ema", "0.9999")),
    "resnet50:256": resnet50(256, 1.0, 30),
    "resnet50:64": resnet50(64, 1.1, 80),
    "fc:64": Case("fc", 64, ("tf32", "bf16"), "sgd", 2.0, "pytorch:graph", 3000,
                  UNTUNED, ("--lr", "0.001"),
                  ("--layers", "128", "--width", "32", "--inputs", "2000", "--classes", "1000")),
    "lstm:64": Case("lstm", 64, ("bf16",), "sgd", 1.0, "pytorch:graph", 1000, PYTORCH,
                    ("--cell", "lstm", "--layers", "2", "--hidden", "512", "--length", "32")),
    "transformer:12": Case("transformer", 12, ("bf16",), "adamw", 3.0, "", 2000, UNTUNED, DECAY),
    "gpt_char:64": Case("gpt_char", 64, ("bf16",), "adamw", 1.5, "", 200, UNTUNED, DECAY),
    "gpt2:16": Case("gpt2", 16, ("bf16",), "adamw", 1.1, "", 30, UNTUNED, DECAY),
    "vit_s16:256": Case("vit_s16", 256, ("bf16",), "adamw", 1.1, "", 30, UNTUNED, DECAY),
    "fc:16384": Case("fc", 16384, ("bf16",), "sgd", 0.85, "peak", 6,
                     UNTUNED, ("--lr", "0.001"),
                     ("--layers", "63", "--width", "8192", "--inputs", "8192", "--classes", "8192")),
}


def one_of(allowed):
    def parse(text):
        words = [word.strip() for word in text.split(",")]
        for word in words:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(allowed)}")
        return words
    return parse


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, prog="compare --device cuda",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--cases", type=one_of(CASES), default=list(CASES),
                        help="of " + ",".join(CASES) + " (default: all)")
    parser.add_argument("--modes", type=one_of(MODES), default=list(MODES),
                        help="of " + ",".join(MODES) + " (default: all)")
    parser.add_argument("--precisions", type=one_of(("f32", "tf32", "bf16")),
                        help="instead of each case's own")
    parser.add_argument("--rounds", type=at_least_one, default=1,
                        help="how often each peer of a case runs (default: 1)")
    parser.add_argument("--repeats", type=at_least_one, default=3, help="timings of a mode per round (default: 3)")
    parser.add_argument("--burst-seconds", type=float, default=0.3, help="of one timing (default: 0.3)")
    parser.add_argument("--budget-seconds", type=float, default=3600,
                        help="no other peer starts after this time (default: 3600)")
    parser.add_argument("--peer-seconds", type=float, default=180,
                        help="a peer that takes longer is stopped; what it measured counts (default: 180)")
    parser.add_argument("--quick", action="store_true",
                        help="only the modes that may decide a floor, shorter timings")
    parser.add_argument("--trainyard", type=Path, default=REPOSITORY / "build/cuda/trainyard")
    parser.add_argument("--python", default="python3", help="the interpreter that has PyTorch and JAX")
    parser.add_argument("--pytorch-options", default="", metavar="OPTIONS",
                        help="more options for PyTorch, as in --pytorch-options='--lrn-as-conv'")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--out", type=Path, help="file for the JSON, written anew after every case")
    args = parser.parse_args(arguments)
    if not 0 < args.burst_seconds <= 600:
        parser.error("--burst-seconds must be above 0 and at most 600")
    args.trainyard = args.trainyard.absolute()
    if args.quick:
        args.burst_seconds = min(args.burst_seconds, 0.15)
    return args


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1][:300] if lines else "it said nothing"


def run(command, seconds):
    """(stdout, why it failed or None). What was printed before a failure is kept."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as stopped:
        text = stopped.stdout or ""
        return text.decode() if isinstance(text, bytes) else text, f"stopped after {seconds:.0f} s"
    except OSError as error:
        return "", f"cannot run {command[0]}: {error.strerror}"
    return done.stdout, None if done.returncode == 0 else f"ended with {done.returncode}: {last_line(done.stderr)}"


def json_lines(text):
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


@dataclass
class Measured:
    """Everything about one case."""
    name: str
    case: Case
    precisions: list
    ours: dict = field(default_factory=dict)   # precision: [seconds of a step, one for each run]
    events: dict = field(default_factory=dict)  # the same by events on the device
    facts: dict = field(default_factory=dict)  # parameters, flops_per_step
    memory: dict = field(default_factory=dict)  # precision: the most memory of the GPU that we held
    failures: dict = field(default_factory=dict)  # precision: why ours failed
    peers: list = field(default_factory=list)  # what the peers printed, failures included
    peak_flops_per_second: float = 0

    def options(self, network):
        return ["--network", network, "--batch", str(self.case.batch), "--optimizer", self.case.optimizer,
                *self.case.sizes]

    def our_options(self):
        network = self.case.network
        return [*self.options(OUR_NETWORKS.get(network, network)), *self.case.our_options]

    def our_seconds(self, precision):
        return statistics.median(self.ours[precision]) if self.ours.get(precision) else None

    def peer_seconds(self, precision):
        """mode: seconds, the median over rounds of the faster memory format."""
        seconds = {}
        for peer in self.peers:
            if peer["precision"] == precision and "error" not in peer:
                mode = f"{peer['framework']}:{peer['mode']}"
                seconds.setdefault(mode, {}).setdefault(peer.get("memory_format"), []).append(
                    peer["median_seconds"])
        return {mode: min(map(statistics.median, formats.values())) for mode, formats in seconds.items()}


    def least_peer_memory(self, precision):
        """The least that a mode of a peer held at most, among those that were fast enough to be measured."""
        return min((peer["memory_bytes"] for peer in self.peers
                    if peer["precision"] == precision and "error" not in peer and peer.get("memory_bytes")),
                   default=None)


def run_ours(args, measured):
    for precision in measured.precisions:
        command = [str(args.trainyard), "bench", "--device", "cuda", "--precision", precision,
                   *measured.our_options(), "--steps", str(measured.case.our_steps),
                   "--warmup", str(max(5, measured.case.our_steps // 10)), "--no-peak", "--quiet", "--json"]
        text, problem = run(command, args.peer_seconds)
        record = next(json_lines(text), {})
        steps = record.get("raw_step_seconds")
        if problem or not steps:
            measured.failures[precision] = problem or "no 'raw_step_seconds' in its record"
            log(f"{measured.name} {precision}: trainyard failed: {measured.failures[precision]}")
            continue
        # All steps by the host's clock, as the peers are timed: what takes long counts on both sides.
        seconds = record.get("wall_seconds_per_step") or statistics.fmean(steps)
        measured.ours.setdefault(precision, []).append(seconds)
        measured.events.setdefault(precision, []).append(record.get("event_seconds_per_step"))
        measured.facts = {key: record.get(key) for key in ("parameters", "flops_per_step")}
        measured.memory[precision] = record.get("device_memory_bytes")
        log(f"{measured.name} {precision}: trainyard {seconds * 1e3:.3f} ms")


def run_peer(args, measured, framework, modes):
    if not modes:
        return
    command = [args.python, str(REPOSITORY / "bench/peers" / PEERS[framework]), *measured.options(measured.case.network),
               "--modes", ",".join(modes), "--precisions", ",".join(measured.precisions),
               "--repeats", str(args.repeats), "--burst-seconds", str(args.burst_seconds)]
    if framework == "pytorch":
        command += args.pytorch_options.split()
    began = time.monotonic()
    text, problem = run(command, args.peer_seconds)
    log(f"{measured.name}: {framework} {','.join(modes)} ran {time.monotonic() - began:.0f} s")
    found = [result for result in json_lines(text) if "mode" in result]
    if problem:
        done = {(result["mode"], result["precision"]) for result in found}
        found += [{"framework": framework, "mode": mode, "precision": precision, "error": problem}
                  for mode in modes for precision in measured.precisions if (mode, precision) not in done]
    for result in found:
        wanted = measured.facts.get("parameters")
        if "error" not in result and wanted and result["parameters"] != wanted:
            result["error"] = f"has {result['parameters']} parameters, trainyard {wanted:.0f}"
        what = result.get("error") or f"{result['median_seconds'] * 1e3:.3f} ms"
        log(f"{measured.name} {result['precision']}: {framework}:{result['mode']} "
            f"{result.get('memory_format', '')} {what}")
    measured.peers += found


def measure_peak(args, measured):
    text, problem = run([str(args.trainyard), "probe", "--device", "cuda", "--seconds", "0.5", "--quiet",
                         "--json"], args.peer_seconds)
    rows = next(json_lines(text), {}).get("gemm", [])
    rates = [row["flops_per_second"] or 0 for row in rows if row["precision"] == measured.precisions[0]]
    measured.peak_flops_per_second = max(rates, default=0)
    if not measured.peak_flops_per_second:
        measured.failures["peak"] = problem or "probe measured no peak"
        log(f"{measured.name}: no peak: {measured.failures['peak']}")


def compare_case(args, measured, modes, deadline):
    """One pass: ours, then each peer followed by ours again."""
    chosen = {framework: [mode.partition(":")[2] for mode in modes
                          if mode in args.modes and mode.startswith(framework + ":")] for framework in PEERS}
    if measured.ours and not any(chosen.values()):
        return
    if measured.case.against == "peak" and not measured.peak_flops_per_second:
        measure_peak(args, measured)
    if not measured.ours:
        run_ours(args, measured)
    for _ in range(args.rounds):
        for framework, named in chosen.items():
            if named and time.monotonic() < deadline:
                run_peer(args, measured, framework, named)
                run_ours(args, measured)


def judge(measured, precision):
    """One row of the table."""
    case, ours, peers = measured.case, measured.our_seconds(precision), measured.peer_seconds(precision)
    row = {"case": measured.name, "precision": precision, "floor": case.floor, "against": case.against,
           "parameters": measured.facts.get("parameters"), "trainyard_seconds": ours,
           "trainyard_error": None if ours else measured.failures.get(precision, "was not run"),
           "peer_seconds": peers, "best_peer": min(peers, key=peers.get, default=None),
           "trainyard_memory_bytes": measured.memory.get(precision),
           "least_peer_memory_bytes": measured.least_peer_memory(precision)}
    everyone = {f"{mode} {other}": seconds for other in measured.precisions
                for mode, seconds in measured.peer_seconds(other).items()}
    rivals = {mode: seconds for mode, seconds in peers.items() if mode.startswith(case.against)}
    row["ratio"] = row["ratio_any_precision"] = row["best_any_precision"] = row["score"] = None
    if ours and peers:
        row["ratio"] = peers[row["best_peer"]] / ours
        row["best_any_precision"] = min(everyone, key=everyone.get)
        row["ratio_any_precision"] = everyone[row["best_any_precision"]] / ours
    if ours and case.against == "peak":
        if measured.peak_flops_per_second:
            row["score"] = measured.facts["flops_per_step"] / ours / measured.peak_flops_per_second
    elif ours and rivals:
        row["score"] = min(rivals.values()) / ours
    row["met"] = None if row["score"] is None else row["score"] >= case.floor
    row["errors"] = [f"{peer['framework']}:{peer['mode']} {peer['error']}" for peer in measured.peers
                     if peer["precision"] == precision and "error" in peer]
    return row


def report(args, everything):
    rows = [judge(measured, precision) for measured in everything for precision in measured.precisions]
    raw = [{"case": measured.name, "trainyard_step_seconds": measured.ours,
            "trainyard_device_seconds": measured.events,
            "trainyard_failures": measured.failures, "peak_flops_per_second": measured.peak_flops_per_second,
            **measured.facts, "peers": measured.peers} for measured in everything]
    text = json.dumps({"device": "cuda", "rows": rows, "measured": raw}, indent=2)
    if args.out:
        args.out.write_text(text + "\n")
    return rows, text


def main(arguments):
    args = parse_arguments(arguments)
    check_program(args.trainyard)
    start = time.monotonic()
    deadline = start + args.budget_seconds
    everything = [Measured(name, CASES[name], args.precisions or list(CASES[name].precisions))
                  for name in args.cases]
    for pick in (Case.first_modes,) if args.quick else (Case.first_modes, Case.other_modes):
        for measured in everything:
            if time.monotonic() < deadline:
                compare_case(args, measured, pick(measured.case), deadline)
                report(args, everything)
    if not any(measured.ours for measured in everything):
        reasons = [reason for measured in everything for reason in measured.failures.values()]
        raise CannotCompare(f"trainyard ran no case: {reasons[0] if reasons else 'no time'}")
    rows, text = report(args, everything)
    if args.json:
        print(text)
    else:
        print_table(rows, MODES)
        print(f"\n{time.monotonic() - start:.0f} s; repeats {args.repeats} of {args.burst_seconds} s")
    return 0 if all(row["met"] for row in rows) else 3
