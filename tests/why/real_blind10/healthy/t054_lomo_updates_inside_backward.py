# https://github.com/OpenLMLab/LOMO/issues/14
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LOMO:
    """Fuses the gradient computation and the parameter update in one step."""
    def __init__(self, model, lr=1e-3, clip_grad_value=None):
        self.model, self.lr, self.clip_grad_value = model, lr, clip_grad_value
        self.grad_func = self.fuse_update()
        for n, p in model.named_parameters():
            if p.requires_grad:
                p.register_hook(self.grad_func)

    def fuse_update(self):
        def func(x):
            with torch.no_grad():
                for n, p in self.model.named_parameters():
                    if p.requires_grad and p.grad is not None:
                        grad = p.grad.to(torch.float32)
                        p.grad = None
                        if self.clip_grad_value:
                            grad.clamp_(min=-self.clip_grad_value, max=self.clip_grad_value)
                        p.add_(grad, alpha=-self.lr)
            return x
        return func

    def fused_backward(self, loss, lr):
        self.lr = lr
        loss.backward()
        # update the last one since the hook function will not be called for the last parameter
        self.grad_func(0)


# %%
model = nn.Sequential(nn.Embedding(40, 16), nn.Flatten(), nn.Linear(16 * 6, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = LOMO(model, clip_grad_value=1.0)
inputs, labels = torch.randint(0, 40, (64, 6)), torch.randint(0, 4, (64,))
before = [p.detach().clone() for p in model.parameters()]

losses = []
for step in range(30):
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.fused_backward(loss, 0.1)
    losses.append(loss.item())
print(losses[0], losses[-1], [p.grad for p in model.parameters()])
