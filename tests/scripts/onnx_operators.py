#!/usr/bin/env python3
"""Writes the models by which ONNX tests backends, one or more for each operator, to FOLDER as NAME.onnx.

usage: onnx_operators.py FOLDER. Exit status 77 where Python's onnx is absent (Debian: python3-onnx).
"""

import os
import sys
import warnings

SYSTEM_PYTHON = "/usr/bin/python3"

try:
    import numpy as np
    import onnx
except ImportError:
    # Debian's packages belong to Debian's Python, which need not be the first one.
    if os.path.exists(SYSTEM_PYTHON) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    sys.exit(77)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    warnings.filterwarnings("ignore")
    for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if not hasattr(np, name):  # onnx 1.12 names types that later versions of numpy have not
            setattr(np, name, kind)
    from onnx.backend.test.case.node import collect_testcases

    for case in collect_testcases(None):
        if case.model is not None:
            onnx.save(case.model, os.path.join(folder, case.name + ".onnx"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
