# https://github.com/evanmy/sae/issues/5
import torch
import torch.nn as nn

torch.manual_seed(0)


def Simple_Decoder(input_ch, out_ch):
    chs = [input_ch, out_ch]
    conv2d = torch.nn.Conv2d(chs[0], chs[1], kernel_size=3, padding=1)
    layers = [conv2d, torch.nn.Sigmoid()]
    return torch.nn.Sequential(*layers)


class EnforcePrior(torch.autograd.Function):

    @staticmethod
    def forward(self, prior, x):
        # Regions that prior have 0 prob, we dont want to sample from it
        eps = 1e-8
        self.forbidden_regs = (prior < eps).float()
        return x - 1e12*self.forbidden_regs

    @staticmethod
    def backward(self, grad):
        # Make sure that the forbidden regions have 0 gradiants.
        return grad*(self.forbidden_regs==0).float()


def enforcer(prior, x):
    to_apply = EnforcePrior.apply
    return to_apply(prior, x)


class SAE(nn.Module):
    def __init__(self, in_dim=1, out_dim=4):
        super(SAE, self).__init__()
        self.u1 = nn.Conv2d(in_dim, out_dim, 3, padding=1)
        self.d1 = Simple_Decoder(out_dim, 1)

    def forward(self, x, prior):
        logits = self.u1(x)
        logits = enforcer(prior, logits)
        pred = torch.nn.functional.softmax(logits, dim=1)
        return pred, self.d1(pred)


# %%
model = SAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
img = torch.rand(2, 1, 8, 8)
prior = (torch.rand(1, 4, 8, 8) > 0.3).float() / 4
prior[:, 0] = 0.25

# %%
pred, recon = model(img, prior)
loss = ((recon - img) ** 2).mean()
optimizer.zero_grad()
loss.backward()
optimizer.step()
