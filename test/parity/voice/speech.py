"""A minute of speech from espeak-ng at 16 kHz, with silences between the sentences."""
import os
import subprocess
import wave

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def speak(text, voice):
    """One sentence as float samples at 16 kHz."""
    data = subprocess.run(["espeak-ng", "-v", voice, "-s", "150", "--stdout", text], capture_output=True, check=True).stdout
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "qfx-speech-%d.wav" % os.getpid())
    with open(path, "wb") as file:
        file.write(data)
    try:
        with wave.open(path) as reader:
            rate = reader.getframerate()
            samples = np.frombuffer(reader.readframes(10 ** 9), dtype=np.int16).astype(np.float64) / 32768
    finally:
        os.remove(path)
    # Low-pass at 7.6 kHz by a windowed sinc, then linear interpolation between the samples.
    taps = np.arange(-48, 49)
    kernel = np.sinc(2 * 7600 / rate * taps) * np.hamming(len(taps))
    samples = np.convolve(samples, kernel / kernel.sum(), mode="same")
    times = np.arange(0, len(samples) - 1, rate / 16000)
    return np.interp(times, np.arange(len(samples)), samples).astype(np.float32)


def make_recording(seconds=60):
    """f32 [seconds * 16000]: sentences of speech.txt, 0.7 s of faint noise after each."""
    rng = np.random.default_rng(5)
    parts, total = [], 0
    lines = open(os.path.join(HERE, "speech.txt")).read().splitlines()
    while total < seconds * 16000:
        for number, line in enumerate(lines):
            for part in (speak(line, ("en-us", "en-gb")[number % 2]) * 0.6, np.zeros(11200, np.float32)):
                parts.append(part + rng.normal(0, 1e-4, len(part)).astype(np.float32))
                total += len(part)
    return torch.from_numpy(np.concatenate(parts)[:seconds * 16000])
