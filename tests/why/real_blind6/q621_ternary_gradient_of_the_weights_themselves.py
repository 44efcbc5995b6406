# https://github.com/vinsis/ternary-quantization/issues/1
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def quantize(tensor_data, w_p, w_n, threshold=0.15):
    """Returns quantized weights: one of {-w_n, 0, w_p}."""
    delta = tensor_data.abs().max() * threshold
    return (tensor_data > delta).float() * w_p + (tensor_data < -delta).float() * -w_n


def get_grads(full_precision_data, grad_data, w_p_data, w_n_data, threshold=0.15):
    delta = full_precision_data.abs().max() * threshold
    a = (full_precision_data > delta).float()
    b = (full_precision_data < -delta).float()
    c = torch.ones_like(full_precision_data) - a - b
    # scaled gradient for the full precision weights, gradients for the scaling factors
    full_precision_grad = a * full_precision_data * w_p_data + b * full_precision_data * w_n_data + c * full_precision_data * 1
    w_p_grad = (a * grad_data).sum()
    w_n_grad = (b * grad_data).sum()
    return full_precision_grad, w_p_grad, w_n_grad


model_to_train = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 4))
weights_to_be_quantized = [model_to_train[0].weight, model_to_train[2].weight]
full_precision_copies = [w.data.clone().requires_grad_() for w in weights_to_be_quantized]
scaling_factors = [torch.ones(2, requires_grad=True) for _ in range(len(weights_to_be_quantized))]

optimizer = torch.optim.Adam([p for p in model_to_train.parameters() if not any(p is w for w in weights_to_be_quantized)], lr=0.001)
optimizer_fp = torch.optim.Adam(full_precision_copies, lr=0.001)
optimizer_sf = torch.optim.Adam(scaling_factors, lr=0.001)
loader = [(torch.randn(32, 16), torch.randint(0, 4, (32,))) for _ in range(10)]

# %%
for epoch in range(2):
    for images, labels in loader:
        for w, copy, sf in zip(weights_to_be_quantized, full_precision_copies, scaling_factors):
            w.data = quantize(copy.data, sf.data[0], sf.data[1])
        optimizer.zero_grad()
        optimizer_fp.zero_grad()
        optimizer_sf.zero_grad()
        for w in weights_to_be_quantized:
            w.grad = None
        loss = F.cross_entropy(model_to_train(images), labels)
        loss.backward()
        for w, copy, sf in zip(weights_to_be_quantized, full_precision_copies, scaling_factors):
            fp_grad, wp_grad, wn_grad = get_grads(copy.data, w.grad.data, sf.data[0], sf.data[1])
            copy.grad = fp_grad
            sf.grad = torch.stack([wp_grad, wn_grad])
        optimizer.step()
        optimizer_fp.step()
        optimizer_sf.step()
    print(epoch, loss.item())
