# https://github.com/mpariente/pytorch_stoi/issues/7
import torch

EPS = 1e-8


def bands(x, obm):
    spec = torch.fft.rfft(x.unfold(-1, 16, 8), dim=-1)
    power = spec.real ** 2 + spec.imag ** 2
    return torch.sqrt(power @ obm)


# %%
obm = torch.rand(9, 3)
clean = torch.randn(64)
est = torch.randn(64)
est[:16] = 0.0  # a frame of silence
est.requires_grad_()

# %%
x_tob, y_tob = bands(clean, obm), bands(est, obm)
loss = -torch.cosine_similarity(x_tob.flatten(), y_tob.flatten(), dim=0)
loss.backward()
print(loss)
print(est.grad)
