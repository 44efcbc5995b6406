# https://github.com/Lightning-AI/pytorch-lightning/issues/19910
import torch
from torch import nn


class LitModel(nn.Module):
    def test_step(self, batch, batch_idx):
        with torch.enable_grad():
            N = 5
            f = lambda x: x ** 2
            x = torch.randn(N, requires_grad=True)
            y = f(x)
            I_N = torch.eye(N)
            # Sequential approach
            jacobian_rows = [torch.autograd.grad(y, x, v, retain_graph=True, allow_unused=True)[0]
                             for v in I_N.unbind()]
            return torch.stack(jacobian_rows)


class Trainer:
    def __init__(self, inference_mode=True):
        self.inference_mode = inference_mode

    def test(self, model, batches):
        with torch.inference_mode() if self.inference_mode else torch.no_grad():
            return [model.test_step(batch, i) for i, batch in enumerate(batches)]


# %%
model = LitModel()
trainer = Trainer()

# %%
trainer.test(model, [None])
