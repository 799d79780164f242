"""silero-vad's 16 kHz detector rebuilt from plain layers around its own weights, for a whole recording at once."""
import os

import torch
from torch import nn

FRAME, CONTEXT, REFLECTED, RATE = 512, 64, 64, 16000


class VoiceDetector(nn.Module):
    """Frames f32 [T, 640] (64 samples of context, 512 new ones, the last 64 reflected) -> speech probabilities f32 [T].

    The original keeps the state of an LSTM cell from call to call; here the frames are the time steps of a layer. The reflection, a layer
    of the original, is part of cutting the frames.
    """

    def __init__(self):
        super().__init__()
        self.stft = nn.Conv1d(1, 258, 256, stride=128, bias=False)
        self.encoder = nn.Sequential(
            nn.Conv1d(129, 128, 3, padding=1), nn.ReLU(), nn.Conv1d(128, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(64, 64, 3, stride=2, padding=1), nn.ReLU(), nn.Conv1d(64, 128, 3, padding=1), nn.ReLU())
        self.lstm = nn.LSTM(128, 128)
        self.relu = nn.ReLU()
        self.decoder = nn.Conv1d(128, 1, 1)

    def forward(self, frames):
        spectrum = self.stft(frames.unsqueeze(1))
        real, imaginary = spectrum[:, :129], spectrum[:, 129:]
        magnitude = torch.sqrt(real * real + imaginary * imaginary)
        features = self.encoder(magnitude).transpose(1, 2)  # [T, 1, 128]: one batch item, T steps
        hidden = self.lstm(features)[0]
        scores = self.decoder(self.relu(hidden.transpose(1, 2)))
        return torch.sigmoid(scores).flatten()


def load():
    """(the rebuilt model, silero-vad's TorchScript)."""
    import silero_vad
    script = torch.jit.load(os.path.join(os.path.dirname(silero_vad.__file__), "data", "silero_vad.jit")).eval()
    state = script._model.state_dict()
    model = VoiceDetector().eval()
    weights = {"stft.weight": state["stft.forward_basis_buffer"]}
    for number in range(4):
        for key in ("weight", "bias"):
            weights["encoder.%d.%s" % (2 * number, key)] = state["encoder.%d.reparam_conv.%s" % (number, key)]
    for key in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        weights["lstm.%s_l0" % key] = state["decoder.rnn." + key]
    for key in ("weight", "bias"):
        weights["decoder." + key] = state["decoder.decoder.2." + key]
    model.load_state_dict(weights)
    return model, script


def cut_frames(samples):
    """f32 [S] -> [T, 640]: each frame behind the last 64 samples of the one before (zeros at first), reflected at its end."""
    samples = torch.nn.functional.pad(samples, (CONTEXT, -len(samples) % FRAME))
    frames = samples.unfold(0, FRAME + CONTEXT, FRAME)
    return torch.nn.functional.pad(frames.unsqueeze(1), (0, REFLECTED), mode="reflect").squeeze(1).contiguous()


def run_script(script, samples):
    """The probabilities of the original, frame by frame."""
    script.reset_states()
    samples = torch.nn.functional.pad(samples, (0, -len(samples) % FRAME))
    with torch.no_grad():
        return torch.stack([script(chunk.unsqueeze(0), RATE)[0, 0] for chunk in samples.split(FRAME)])
