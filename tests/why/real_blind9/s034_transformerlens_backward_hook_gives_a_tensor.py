# https://github.com/TransformerLensOrg/TransformerLens/issues/1160
import torch
import torch.nn as nn

torch.manual_seed(0)


class HookPoint(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def add_hook(self, hook, dir="fwd"):
        def full_hook(module, grad_input, grad_output):
            return hook(grad_output[0], hook=self)

        full_hook.__name__ = "hook"
        self.register_full_backward_hook(full_hook)

    def forward(self, x):
        return x


class HookedTransformer(nn.Module):
    def __init__(self, d_vocab=20, d_model=8):
        super().__init__()
        self.embed = nn.Embedding(d_vocab, d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, 16), nn.GELU(), nn.Linear(16, d_model))
        self.hook_resid_post = HookPoint("blocks.0.hook_resid_post")
        self.unembed = nn.Linear(d_model, d_vocab)

    def forward(self, tokens):
        resid = self.embed(tokens)
        resid = self.hook_resid_post(resid + self.mlp(resid))
        return self.unembed(resid)


# %%
model = HookedTransformer()
model.eval()
tokens = torch.tensor([[3, 7, 7, 1]])


# Simple backward hook that just returns the gradient unchanged
def simple_hook(grad, hook):
    print(f"{hook.name}: shape={grad.shape}")
    return grad


# Add backward hook
model.hook_resid_post.add_hook(simple_hook, dir='bwd')

# %%
# Forward pass
logits = model(tokens)

# Backward pass - this should work but raises:
# RuntimeError: hook 'hook' has changed the size of value
loss = logits[0, -1, 0]  # Single scalar
loss.backward()
