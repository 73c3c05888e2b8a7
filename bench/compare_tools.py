"""What the comparisons on the CPU and on a GPU share."""
import argparse
import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent


class CannotCompare(Exception):
    pass


def log(text):
    print(text, file=sys.stderr, flush=True)


def at_least_one(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of at least 1")
    return int(text)


def check_program(path):
    if not os.access(path, os.X_OK) or path.is_dir():
        raise CannotCompare(f"no trainyard program at {path}; build it, or name it with --trainyard")
