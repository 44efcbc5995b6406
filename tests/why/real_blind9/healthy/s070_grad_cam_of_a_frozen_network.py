# https://github.com/jacobgil/pytorch-grad-cam/blob/master/pytorch_grad_cam/activations_and_gradients.py
import torch
from torch import nn

torch.manual_seed(0)


class ActivationsAndGradients:
    def __init__(self, model, target_layer):
        self.model = model
        self.activations, self.gradients = [], []
        target_layer.register_forward_hook(lambda module, inp, out: self.activations.append(out.detach()))
        target_layer.register_full_backward_hook(self.save_gradient)

    def save_gradient(self, module, grad_input, grad_output):
        # gradients come in reverse order
        self.gradients.insert(0, grad_output[0].detach())

    def __call__(self, x):
        self.activations.clear()
        self.gradients.clear()
        return self.model(x)


# %%
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 12, 3), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 5)).eval()
target_layer = model[2]
activations_and_grads = ActivationsAndGradients(model, target_layer)

# %%
output = activations_and_grads(torch.rand(1, 3, 16, 16))
target_category = output.argmax(1).item()
model.zero_grad()
loss = output[0, target_category]
loss.backward(retain_graph=True)
weights = activations_and_grads.gradients[-1].mean((2, 3), keepdim=True)
cam = (weights * activations_and_grads.activations[-1]).sum(1).clamp(min=0)
print(cam.shape, cam.max())
