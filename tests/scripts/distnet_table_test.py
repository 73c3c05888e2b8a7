"""scripts/distnet-table on made-up records whose figures can be worked out by hand."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "distnet-table")


def record(strategy, seconds, losses, **more):
    """A hundred gradients of 10 images, one a point, evenly spread over the seconds."""
    count = len(losses)
    curve = [[seconds * (i + 1) / count, i + 1, loss] for i, loss in enumerate(losses)]
    asked = {"network": "cifarnet", "strategy": strategy, "devices": 1, **more.pop("asked", {})}
    return {"status": "ok", "asked": asked, "loss_curve": curve, "images_consumed": 10 * count, "test_accuracy": None, **more}


def falling(first, last):
    return [first + (last - first) * i / 99 for i in range(100)]


class Table(unittest.TestCase):
    def table(self, records, *options):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "records"))
            for number, one in enumerate(records):
                with open(os.path.join(folder, "records", f"{number:02}.json"), "w", encoding="utf-8") as file:
                    json.dump(one, file)
            return subprocess.run([sys.executable, TABLE, folder, *options], capture_output=True, text=True, check=False)

    def test_equal_gradients_and_equal_wall_clock(self):
        workers = {"devices": 2}
        found = self.table(
            [
                record("bsp", 50, falling(5.0, 2.0), asked=workers),  # twice as fast, and ends before the last moment
                record("single", 100, falling(4.0, 1.0)),
                record("lazy", 100, [3.0] * 100, asked={**workers, "servers": 2}),
            ],
            "--loss", "3", "--loss", "1.5")
        self.assertEqual(found.stderr, "")
        self.assertEqual(found.stdout.split("\n"), [
            "| run | gradients | s | speed-up | gradients/s | images/s | loss at 25 s | loss at 50 s | loss at 100 s "
            "| final loss | s to 3 | s to 1.5 |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|",
            "| single | 100 | 100.0 | 1.00 | 1.00 | 10 | 3.333 | 2.576 | 1.061 | 1.061 | 36.0 | 86.0 |",
            "| bsp, 2 workers | 100 | 50.0 | 2.00 | 2.00 | 20 | 3.576 | 2.061 | 2.061* | 2.061 | 34.5 | - |",
            "| lazy, 2 workers, 2 servers | 100 | 100.0 | 1.00 | 1.00 | 10 | 3.000 | 3.000 | 3.000 | 3.000 | 5.0 | - |",
            "",
        ])

    def test_runs_of_one_deployment_are_averaged(self):
        found = self.table([record("single", 90, [2.0] * 100, test_accuracy=0.5), record("single", 110, [4.0] * 100, test_accuracy=0.7)],
                           "--loss", "5")
        self.assertIn("| 100.0 ± 14.1 | 1.00 |", found.stdout)
        self.assertIn("| 3.000 ± 1.414 | 5.0 ± 0.7 | 0.6000 ± 0.1414 |", found.stdout)

    def test_points_of_many_gradients(self):
        curve = [[1.0, 40, 4.0], [2.0, 80, 2.0], [3.0, 100, 1.0]]
        found = self.table([{**record("single", 1, [1.0]), "loss_curve": curve, "images_consumed": 1000}])
        # After a third of the gradients nothing but 4 was seen, after two thirds nothing but 2.
        self.assertIn("| final loss | s to 4 | s to 2 |", found.stdout)
        self.assertIn("| 1.000 | 1.0 | 2.0 |", found.stdout)

    def test_what_failed_is_named(self):
        found = self.table([record("single", 1, [1.0] * 20), {"status": "crash", "reason": "signal 9", "asked": {}}])
        self.assertEqual(found.returncode, 0)
        self.assertIn("left out 01.json: crash signal 9", found.stderr)
        none = self.table([record("bsp", 1, [1.0] * 20)])
        self.assertEqual(none.returncode, 1)
        self.assertIn("no run 'single'; there are: bsp", none.stderr)
        self.assertEqual(subprocess.run([sys.executable, TABLE, "/nowhere"], capture_output=True, check=False).returncode, 1)


if __name__ == "__main__":
    unittest.main()
