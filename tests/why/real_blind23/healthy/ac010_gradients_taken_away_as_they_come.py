# https://github.com/Outsider565/LoRA-GA/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class LoraLinear(nn.Module):
    def __init__(self, base_layer, r=4, lora_alpha=8):
        super().__init__()
        self.base_layer = base_layer
        self.lora_A = nn.Linear(base_layer.in_features, r, bias=False)
        self.lora_B = nn.Linear(r, base_layer.out_features, bias=False)
        nn.init.zeros_(self.lora_B.weight)
        self.r, self.scaling = r, lora_alpha / r

    def forward(self, x):
        return self.base_layer(x) + self.scaling * self.lora_B(self.lora_A(x))


def get_record_gradient_hook(model, record_dict):
    def record_gradient_hook(grad):
        for n, p in model.named_parameters():
            if p.requires_grad and p.grad is not None:
                if n not in record_dict:
                    record_dict[n] = p.grad.cpu()
                else:
                    record_dict[n] += p.grad.cpu()
                p.grad = None
        return grad

    return record_gradient_hook


def estimate_gradient(model, dataloader):
    model.train()
    named_grads, hooks = {}, []
    for name, param in model.named_parameters():
        param.requires_grad = True
        hooks.append(param.register_hook(get_record_gradient_hook(model, named_grads)))
    num = 0
    for x, y in dataloader:
        num += 1
        F.cross_entropy(model(x), y).backward()
        get_record_gradient_hook(model, named_grads)(None)
        for n, p in model.named_parameters():
            p.grad = None
    for n, g in named_grads.items():
        named_grads[n] /= num
    for hook in hooks:
        hook.remove()
    return named_grads


def reinit_lora(layer, grad, stable_gamma=16):
    r = layer.r
    U, S, V = torch.svd_lowrank(grad, q=4 * r, niter=4)
    B, A = U[:, r:2 * r], V.T[:r]
    m, n = grad.shape
    layer.lora_B.weight.data = B * m ** 0.25 / stable_gamma ** 0.5
    layer.lora_A.weight.data = A * m ** 0.25 / stable_gamma ** 0.5
    layer.base_layer.weight.data -= layer.scaling * layer.lora_B.weight.data @ layer.lora_A.weight.data


# %%
model = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))
x = torch.randn(400, 24)
y = (x @ torch.randn(24, 4)).argmax(1)
dataloader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=40, shuffle=True)
named_grads = estimate_gradient(model, dataloader)

# %%
model.requires_grad_(False)
for index in (0, 2):
    model[index] = LoraLinear(model[index])
    reinit_lora(model[index], named_grads[f"{index}.weight"])
trainable = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trainable, lr=5e-3)
base_before = model[0].base_layer.weight.detach().clone()

# %%
losses = []
for epoch in range(15):
    for xb, yb in dataloader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
print(len(named_grads), losses[0], losses[-1])
