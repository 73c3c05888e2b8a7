"""Installs the build to a scratch prefix, moves it, and uses it from there as a stranger would.

usage: install_test.py BUILD_FOLDER SOURCE_FOLDER CXX_COMPILER
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE, COMPILER = sys.argv[1:4]


def run(*command, folder, **options):
    result = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=240, **options)
    if result.returncode != 0:
        sys.exit(f"install_test: {' '.join(command)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def want(condition, message):
    if not condition:
        sys.exit(f"install_test: {message}")


def check_files(prefix):
    for path in (
        "bin/trainyard",
        "include/trainyard/trainyard.h",
        "lib/libtrainyard.a",
        "lib/cmake/trainyard/trainyardConfig.cmake",
        "share/man/man1/trainyard-train.1",
        "share/man/man1/trainyard-study-run.1",
        "share/bash-completion/completions/trainyard",
        "share/zsh/vendor-completions/_trainyard",
        "share/fish/vendor_completions.d/trainyard.fish",
        "share/trainyard/studies/psc-deepmnist.yaml",
        "share/doc/trainyard/LICENSE",
    ):
        want(os.path.exists(os.path.join(prefix, path)), f"{path} is not installed")
    for folder, _, names in os.walk(os.path.join(prefix, "lib/cmake")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
            for place in (SOURCE, BUILD):
                want(place not in text, f"{name} names the folder {place}")


# The program from an empty folder, without anything of the source tree, and with a home of its own.
def check_program(prefix, folder):
    environment = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": os.path.join(folder, "cache")}
    program = os.path.join(prefix, "bin/trainyard")
    use = lambda *words: run(program, *words, folder=folder, env=environment)
    want(use("--version").startswith("trainyard "), "--version says something else")
    use("train", "--network", "lenet", "--batch", "8", "--steps", "4", "--quiet", "--no-eval")
    use("study", "plan", os.path.join(prefix, "share/trainyard/studies/psc-deepmnist.yaml"))
    use("networks", "export", "lenet", "--to", "lenet.onnx")
    # A run of several processes starts the program again, wherever it lies.
    use("train", "--network", "lenet", "--batch", "8", "--steps", "2", "--workers", "1", "--mode", "bsp", "--threads", "1", "--quiet", "--no-eval")


def check_examples(prefix, folder):
    examples = os.path.join(folder, "examples")
    shutil.copytree(os.path.join(SOURCE, "examples"), examples)
    run("cmake", "-S", examples, "-B", "made", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
        "-DCMAKE_BUILD_TYPE=Debug", folder=folder)
    run("cmake", "--build", "made", "--parallel", "2", folder=folder)
    said = run("./made/train_lenet", "30", folder=folder)
    want("test accuracy" in said and "30 steps" in said, f"train_lenet says {said}")
    for words in ([], ["lenet.onnx", "8"]):
        said = run("./made/measure_network", *words, folder=folder)
        want("samples per second" in said, f"measure_network says {said}")
    check_prediction(prefix, folder)


# The example and the program say the same of the same model, which is fitted to made-up runs.
def check_prediction(prefix, folder):
    with open(os.path.join(folder, "runs.csv"), "w", encoding="utf-8") as runs:
        print("GPU,Model,BatchSize,Optimizer,Epoch,Dataset,Execution Time", file=runs)
        for network, milliseconds in (("lenet", 0.02), ("resnet20", 0.05), ("densenet40-k12", 0.8)):
            for batch in (8, 32):
                for epochs in (10, 20):
                    seconds = 10 + epochs * 50000 / batch * (2 + milliseconds * batch) / 1e3
                    print(f"RTX2070,{network},{batch},sgd,{epochs},cifar10,{seconds}", file=runs)
    program = os.path.join(prefix, "bin/trainyard")
    run(program, "predict", "fit", "runs.csv", "-o", "model.json", "--no-intervals", "--quiet", folder=folder)
    for device in ("RTX2070", "H200"):
        said = run("./made/measure_network", "lenet", "16", "model.json", device, folder=folder)
        asked = json.loads(run(program, "predict", "run", "--model", "model.json", "--network", "lenet", "--batch", "16",
                               "--device", device, "--json", folder=folder))
        wanted = f"predicted   {1e3 * asked['step_seconds']:.3f} ms a step on {device}, {1e-6 * asked['memory']['total']:.1f} MB"
        want(wanted in said, f"measure_network says {said}, trainyard {wanted}")


def main():
    with tempfile.TemporaryDirectory(prefix="trainyard-install-") as scratch:
        first, moved, folder = (os.path.join(scratch, name) for name in ("first", "moved", "empty"))
        os.mkdir(folder)
        run("cmake", "--install", BUILD, "--prefix", first, folder=scratch)
        os.rename(first, moved)
        check_files(moved)
        check_program(moved, folder)
        check_examples(moved, folder)
    print("install_test: installed, moved, used")


main()
