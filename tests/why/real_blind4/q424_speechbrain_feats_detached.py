# https://github.com/speechbrain/speechbrain/issues/1396
from types import SimpleNamespace

import torch

torch.manual_seed(0)


class Fbank(torch.nn.Module):
    def __init__(self, n_fft=64, n_mels=10):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("fbank", torch.rand(n_fft // 2 + 1, n_mels))

    def forward(self, wav):
        stft = torch.stft(wav, self.n_fft, hop_length=32, window=torch.hann_window(self.n_fft), return_complex=True)
        power = stft.real.pow(2) + stft.imag.pow(2)
        return torch.log(power.transpose(1, 2) @ self.fbank + 1e-6)


class InputNormalization(torch.nn.Module):
    def forward(self, x):
        return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)


class CRDNN(torch.nn.Module):
    def __init__(self, n_mels=10, hidden=12):
        super().__init__()
        self.cnn = torch.nn.Conv1d(n_mels, hidden, 3, padding=1)
        self.rnn = torch.nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        x = torch.nn.functional.leaky_relu(self.cnn(x.transpose(1, 2)))
        return self.rnn(x.transpose(1, 2))[0]


class ASR:
    """The recipe's Brain, shortened"""

    def __init__(self, modules, hparams):
        self.modules, self.hparams = modules, hparams
        self.optimizer = torch.optim.Adadelta([p for m in vars(modules).values() for p in m.parameters()], lr=1.0)

    def compute_forward(self, batch):
        """Forward computations from the waveform batches to the output probabilities."""
        wavs, tokens = batch
        # Forward pass
        feats = self.hparams.compute_features(wavs)
        feats = self.modules.normalize(feats)
        x = self.modules.enc(feats.detach())
        logits = self.modules.ctc_lin(x)
        p_ctc = self.hparams.log_softmax(logits)
        return p_ctc

    def compute_objectives(self, predictions, batch):
        _, tokens = batch
        lens = torch.full((predictions.shape[0],), predictions.shape[1])
        return torch.nn.functional.ctc_loss(predictions.transpose(0, 1), tokens, lens, torch.full((len(tokens),), tokens.shape[1]))

    def fit_batch(self, batch):
        predictions = self.compute_forward(batch)
        loss = self.compute_objectives(predictions, batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()


# %%
modules = SimpleNamespace(enc=CRDNN(), ctc_lin=torch.nn.Linear(12, 8), normalize=InputNormalization())
hparams = SimpleNamespace(compute_features=Fbank(), log_softmax=torch.nn.LogSoftmax(dim=-1))
asr = ASR(modules, hparams)
for _ in range(2):
    print(asr.fit_batch((torch.randn(2, 1024), torch.randint(1, 8, (2, 4)))))

# %%
# adversarial example: what the loss says about the input
wavs = torch.randn(2, 1024, requires_grad=True)
tokens = torch.randint(1, 8, (2, 4))
loss = asr.compute_objectives(asr.compute_forward((wavs, tokens)), (wavs, tokens))
loss.backward()
print(wavs.grad)
