"""usage: memory.py qfx-opt prepared.qfx folder: peak memory of calibrations over 2 and over 60 batches of 4 MB, from files written here."""
import json
import os
import struct
import subprocess
import sys

SHAPE, BYTES = [1, 16, 256, 256], 4 << 20


def write(path, count):
    header = {"%d.x" % i: {"dtype": "F32", "shape": SHAPE, "data_offsets": [i * BYTES, (i + 1) * BYTES]} for i in range(count)}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for i in range(count):
            file.write(struct.pack("<f", i / 7 - 3) * (BYTES // 4))


def peak_kb(tool, model, data):
    """Linux counts ru_maxrss of a child that was waited for in KiB."""
    child = subprocess.Popen([tool, model, "--calibrate=" + data, "-q", "-o", data + ".qfx"])
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit("calibration failed")
    return usage.ru_maxrss


def main():
    tool, model, folder = sys.argv[1:]
    peaks = []
    for count in (2, 60):
        path = os.path.join(folder, "data%d.safetensors" % count)
        write(path, count)
        peaks.append(peak_kb(tool, model, path))
        os.remove(path)
    print("peak memory: 2 batches %d KiB, 60 batches %d KiB" % tuple(peaks))
    if peaks[1] > peaks[0] + 2 * BYTES // 1024:
        sys.exit("memory grows with the number of batches")


if __name__ == "__main__":
    main()
