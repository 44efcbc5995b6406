# https://github.com/chr5tphr/zennit/pull/61
from contextlib import contextmanager

import torch
import torch.nn as nn

torch.manual_seed(0)


@contextmanager
def mod_params(module, modifier, param_keys=('weight', 'bias')):
    stored_params = {}
    try:
        for key in param_keys:
            param = getattr(module, key, None)
            if param is not None:
                stored_params[key] = param.data
                param.data = modifier(param.data, key)
        yield module
    finally:
        for key, value in stored_params.items():
            getattr(module, key).data = value


def stabilize(tensor, epsilon=1e-6):
    return tensor + epsilon * ((tensor >= 0).to(tensor) * 2 - 1)


class BasicHook:
    def __init__(self, param_modifier):
        self.param_modifier = param_modifier
        self.stored_input = None

    def forward(self, module, inputs, output):
        self.stored_input = inputs[0].detach()

    def backward(self, module, relevance):
        original_input = self.stored_input.clone().requires_grad_()
        with mod_params(module, self.param_modifier) as modified:
            output = modified.forward(original_input)
        gradient = relevance / stabilize(output.detach())
        grad, = torch.autograd.grad(output, original_input, grad_outputs=gradient)
        return original_input.detach() * grad


class ZPlus(BasicHook):
    def __init__(self):
        super().__init__(lambda param, key: param.clamp(min=0) if key == 'weight' else torch.zeros_like(param))


class LayerComposite:
    def __init__(self, rule, types=(nn.Conv2d,)):
        self.rule, self.types = rule, types

    def register(self, model):
        self.hooks = []
        for module in model:
            if isinstance(module, self.types):
                hook = self.rule()
                module.register_forward_hook(hook.forward)
                self.hooks.append((module, hook))

    def attribute(self, model, data):
        output = model(data)
        relevance = output.detach()
        sums = [relevance.sum().item()]
        for module, hook in reversed(self.hooks):
            relevance = hook.backward(module, relevance)
            sums.append(relevance.sum().item())
        return relevance, sums


# %%
model = nn.Sequential(
    nn.Conv2d(1, 6, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(6, 6, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(6, 4, 3, padding=1),
    nn.ReLU(),
)
composite = LayerComposite(ZPlus)
composite.register(model)

# %%
data = torch.rand(2, 1, 8, 8)
relevance, sums = composite.attribute(model, data)
print("sum of the relevance, from the output to the input:", sums)
print("smallest relevance of a pixel:", relevance.min().item())
