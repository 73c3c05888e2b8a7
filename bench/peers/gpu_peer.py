"""What the peers on a GPU share: options, timing and the form of a result. Needs no framework."""
import argparse
import json
import math
import statistics
import time

POOL_BATCHES = 4  # random batches on the device, taken in turn
PRECISIONS = ("f32", "tf32", "bf16")
WARMUP_SECONDS = 0.3
LEARNING_RATES = {"adam": 1e-4, "adamw": 1e-4, "sgd": 0.1, "momentum": 0.1}
EMA_DECAY = 0.9999
# Sums over thousands of inputs and no norm: a larger rate makes infinities, and those are cheap to multiply.
FC_LEARNING_RATE = 1e-3

# name: layers, width, heads, length, vocabulary
GPTS = {
    "transformer": (4, 128, 4, 64, 1024),
    "gpt_char": (6, 384, 6, 256, 256),
    "gpt2": (12, 768, 12, 1024, 50257),
}
# name: layers, width, heads, image, patch, classes
VITS = {
    "vit": (6, 192, 3, 32, 4, 10),
    "vit_s16": (12, 384, 6, 224, 16, 1000),
}


def one_of(allowed):
    def parse(text):
        words = text.split(",")
        for word in words:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(allowed)}")
        return words
    return parse


def make_parser(description, networks, modes):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", choices=networks, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--modes", type=one_of(modes), default=list(modes),
                        help="of " + ",".join(modes) + " (default: all)")
    parser.add_argument("--precisions", type=one_of(PRECISIONS), default=["tf32"],
                        help="of " + ",".join(PRECISIONS) + " (default: tf32)")
    parser.add_argument("--optimizer", choices=LEARNING_RATES)
    parser.add_argument("--repeats", type=int, default=3, help="timings of each mode (default: 3)")
    parser.add_argument("--burst-seconds", type=float, default=0.5, help="of one timing (default: 0.5)")
    parser.add_argument("--warmup", type=int, default=5, help="steps before anything is timed (default: 5)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, default=4, help="fc: hidden dense layers")
    parser.add_argument("--width", type=int, default=1024, help="fc: outputs of every hidden layer")
    parser.add_argument("--inputs", type=int, default=1000, help="fc: inputs of the first layer")
    parser.add_argument("--classes", type=int, default=100, help="fc: outputs of the last layer")
    return parser


def check_arguments(parser, args):
    if min(args.batch, args.repeats, args.warmup, args.layers, args.width, args.inputs, args.classes) < 1:
        parser.error("--batch, --repeats, --warmup, --layers, --width, --inputs and --classes "
                     "must be at least 1")
    if not 0 < args.burst_seconds <= 600:
        parser.error("--burst-seconds must be above 0 and at most 600")


def learning_rate(network, optimizer):
    return FC_LEARNING_RATE if network == "fc" and optimizer != "adam" else LEARNING_RATES[optimizer]


def timed(run, steps, synchronize):
    """Seconds of a step when `run` starts that many; it may start a few more and says how many it did."""
    synchronize()
    start = time.perf_counter()
    done = run(steps)
    synchronize()
    return (time.perf_counter() - start) / done, done


def measure(args, run, synchronize, on_device=None):
    """`on_device(run, steps)`: starts the steps between two marks on the device and returns how many there
    were and a function that, after synchronising, gives the seconds between the marks."""
    run(args.warmup)
    step, _ = timed(run, 3, synchronize)
    timed(run, max(1, round(WARMUP_SECONDS / step)), synchronize)
    steps = max(3, round(args.burst_seconds / step))
    by_clock, by_device = [], []
    for _ in range(args.repeats):
        between_marks = None

        def marked(count):
            nonlocal between_marks
            if on_device is None:
                return run(count)
            done, between_marks = on_device(run, count)
            return done

        seconds, done = timed(marked, steps, synchronize)
        by_clock.append(seconds)
        if between_marks is not None:
            by_device.append(between_marks() / done)
    median = statistics.median(by_clock)
    return {"steps": done, "repeats": args.repeats, "step_seconds": by_clock, "median_seconds": median,
            "device_seconds": statistics.median(by_device) if by_device else None,
            "images_per_second": args.batch / median}


def finite(number):
    return number if math.isfinite(number) else None


def emit(result):
    """One line at once, so that what is done stays known if the next mode breaks the process."""
    print(json.dumps(result), flush=True)


def one_line(error):
    text = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {text}"[:300]
