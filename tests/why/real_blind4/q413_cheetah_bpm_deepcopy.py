# https://github.com/desy-ml/cheetah/issues/225
from copy import deepcopy

import torch
from torch import nn

torch.manual_seed(0)


class ParameterBeam:
    """Beam of charged particles, where each particle is not simulated individually: first and second moments."""

    def __init__(self, mu, cov, energy):
        self._mu = mu
        self._cov = cov
        self.energy = energy

    @classmethod
    def from_parameters(cls, mu_x=None, mu_xp=None, sigma_x=None, sigma_xp=None, energy=None):
        mu_x = mu_x if mu_x is not None else torch.tensor([0.0])
        mu_xp = mu_xp if mu_xp is not None else torch.tensor([0.0])
        sigma_x = sigma_x if sigma_x is not None else torch.tensor([175e-6])
        sigma_xp = sigma_xp if sigma_xp is not None else torch.tensor([4e-6])
        energy = energy if energy is not None else torch.tensor([1e8])
        mu = torch.stack([mu_x, mu_xp, torch.ones_like(mu_x)], dim=-1)
        cov = torch.zeros(*mu_x.shape, 3, 3)
        cov[..., 0, 0] = sigma_x**2
        cov[..., 1, 1] = sigma_xp**2
        return cls(mu, cov, energy)

    @property
    def mu_x(self):
        return self._mu[..., 0]


class Element(nn.Module):
    def transfer_map(self, energy):
        raise NotImplementedError

    def track(self, incoming):
        tm = self.transfer_map(incoming.energy)
        mu = torch.matmul(tm, incoming._mu.unsqueeze(-1)).squeeze(-1)
        cov = torch.matmul(tm, torch.matmul(incoming._cov, tm.transpose(-2, -1)))
        return ParameterBeam(mu, cov, incoming.energy)


class Drift(Element):
    def __init__(self, length):
        super().__init__()
        self.length = length

    def transfer_map(self, energy):
        tm = torch.eye(3).repeat(*energy.shape, 1, 1)
        tm[..., 0, 1] = self.length
        return tm


class BPM(Element):
    """Beam Position Monitor (BPM) in a particle accelerator."""

    def __init__(self, is_active=False):
        super().__init__()
        self.is_active = is_active
        self.reading = None

    def track(self, incoming):
        if not self.is_active:
            self.reading = None
        else:
            self.reading = incoming.mu_x
        return deepcopy(incoming)


class Segment(Element):
    def __init__(self, elements):
        super().__init__()
        self.elements = nn.ModuleList(elements)

    def track(self, incoming):
        for element in self.elements:
            incoming = element.track(incoming)
        return incoming


# %%
mu_x = torch.tensor([1e-3], requires_grad=True)
beam = ParameterBeam.from_parameters(mu_x=mu_x, mu_xp=torch.tensor([2e-4]))
bpm = BPM(is_active=True)
segment = Segment([Drift(torch.tensor([0.5])), bpm, Drift(torch.tensor([1.0]))])

# %%
outgoing = segment.track(beam)
loss = (bpm.reading - 5e-4).pow(2).sum() + outgoing.mu_x.pow(2).sum()
loss.backward()
print(mu_x.grad)
