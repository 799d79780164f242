"""The command line: files, exit codes, errors."""
import contextlib
import io
import os
import sys
import tempfile
import unittest

import numpy
import torch
from safetensors.torch import load_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
from qfx_export.cli import main  # noqa: E402


def small_model():
    """What --model names in these tests."""
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())


class CommandLineTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_main(self, *arguments):
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            code = main(["--model", "test_cli:small_model", *arguments])
        return code, errors.getvalue()

    def test_model_code_that_fails(self):
        with open(self.path("broken_at_import.py"), "w") as file:
            file.write("raise ValueError('at import')\n")
        with open(self.path("broken_when_called.py"), "w") as file:
            file.write("def make():\n    raise KeyError('when called')\n")
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        for name, text in (("broken_at_import", "importing 'broken_at_import' failed: ValueError: at import"),
                           ("broken_when_called", "calling 'broken_when_called:make' failed: KeyError: 'when called'")):
            code, errors = self.run_main("--model", name + ":make", "--input", "f32[1,4]", "-o", self.path("m.qfx"))
            self.assertEqual((code, errors), (1, "qfx_export: error: %s\n" % text))

    def test_weights_and_npz(self):
        state = {k: v + 1 for k, v in small_model().state_dict().items()}
        torch.save(state, self.path("w.pt"))
        numpy.savez(self.path("c.npz"), **{"0.input": numpy.zeros((2, 4), "f4"), "1.input": numpy.ones((1, 4), "f4")})
        code, errors = self.run_main("--weights", self.path("w.pt"), "--input", "f32[1,4]",
                                     "--calibration", self.path("c.npz"), "-o", self.path("m.qfx"))
        self.assertEqual((code, errors.count("wrote ")), (0, 3))
        self.assertTrue(torch.equal(load_file(self.path("m.safetensors"))["0.weight"], state["0.weight"]))
        calibration = load_file(self.path("m.calib.safetensors"))
        self.assertEqual(sorted(calibration), ["0.input_1", "1.input_1"])

    def test_folder_of_npy_gives_the_input_types(self):
        os.mkdir(self.path("c"))
        numpy.save(os.path.join(self.path("c"), "0.input.npy"), numpy.zeros((3, 4), "f4"))
        code, _ = self.run_main("--calibration", self.path("c"), "-o", self.path("m.qfx"), "--static-batch")
        self.assertEqual(code, 0)
        with open(self.path("m.qfx")) as file:
            self.assertIn(": f32[3, 4]", file.read())

    def test_errors(self):
        cases = [
            (2, "is not an input", ["--input", "f32(1,4)", "-o", self.path("m.qfx")]),
            (2, "does not exist", ["--input", "f32[1,4]", "-o", self.path("no/m.qfx")]),
            (1, "the inputs' types are missing", ["-o", self.path("m.qfx")]),
            (1, "cannot load", ["--weights", self.path("no.pt"), "--input", "f32[1,4]", "-o", self.path("m.qfx")]),
            (1, "is no calibration data", ["--calibration", "x.txt", "-o", self.path("m.qfx")]),
        ]
        for expected, text, arguments in cases:
            with self.subTest(text):
                code, errors = self.run_main(*arguments)
                self.assertEqual(code, expected)
                self.assertIn(text, errors)
        self.assertEqual(os.listdir(self.folder), [])
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(main(["--model", "test_cli:nothing", "--input", "f32[1]", "-o", self.path("m")]), 1)
        self.assertIn("cannot find 'test_cli:nothing'", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
