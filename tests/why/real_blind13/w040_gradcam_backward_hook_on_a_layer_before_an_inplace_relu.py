# https://github.com/WZMIAOMIAO/deep-learning-for-image-processing/issues/688
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ActivationsAndGradients:
    """Keeps the activations and gradients of the target layers."""

    def __init__(self, model, target_layers):
        self.model = model
        self.gradients, self.activations, self.handles = [], [], []
        for target_layer in target_layers:
            self.handles.append(target_layer.register_forward_hook(self.save_activation))
            self.handles.append(target_layer.register_full_backward_hook(self.save_gradient))

    def save_activation(self, module, input, output):
        self.activations.append(output.detach().clone())

    def save_gradient(self, module, grad_input, grad_output):
        self.gradients = [grad_output[0].detach()] + self.gradients

    def __call__(self, x):
        self.gradients, self.activations = [], []
        return self.model(x)


class GradCAM:
    def __init__(self, model, target_layers):
        self.model = model.eval()
        self.activations_and_grads = ActivationsAndGradients(model, target_layers)

    def __call__(self, input_tensor, category, mask):
        output = self.activations_and_grads(input_tensor)
        loss = (output[:, category] * mask).sum()
        self.model.zero_grad()
        loss.backward()
        weights = self.activations_and_grads.gradients[0].mean((2, 3), keepdim=True)
        return F.relu((weights * self.activations_and_grads.activations[0]).sum(1))


class ConvBNReLU(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


class DeepLab(nn.Module):
    def __init__(self, num_classes=3):
        super().__init__()
        self.backbone = nn.Sequential(ConvBNReLU(3, 8), ConvBNReLU(8, 8))
        self.cat_conv = ConvBNReLU(8, 16)
        self.cls_conv = nn.Conv2d(16, num_classes, 1)

    def forward(self, x):
        return self.cls_conv(self.cat_conv(self.backbone(x)))


model = DeepLab()
target_layers = [model.cat_conv[1]]
cam = GradCAM(model=model, target_layers=target_layers)
image = torch.rand(1, 3, 16, 16)

# %%
mask = (image.mean(1) > 0.5).float()
grayscale_cam = cam(image, category=1, mask=mask)
print(grayscale_cam.shape)
