# https://github.com/twosixlabs/armory/issues/1950
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class PyTorchObjectDetector:
    def __init__(self, model):
        self._model = model

    @property
    def model(self):
        return self._model

    def compute_loss(self, x, y):
        out = self._model(x)
        loss_cls = F.cross_entropy(out[:, :3].flatten(2), y['labels'].flatten(1))
        loss_box = F.smooth_l1_loss(out[:, 3:], y['boxes'])
        return loss_cls + loss_box


class CARLAAdversarialPatchPyTorch:
    def __init__(self, estimator, patch_shape=(3, 8, 8), learning_rate=0.01, max_iter=40, optimizer="pgd",
                 targeted=False):
        self.estimator = estimator
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.targeted = targeted
        self._optimizer_string = optimizer
        self._patch = torch.full(patch_shape, 0.5, requires_grad=True)
        if optimizer == "adam":
            self._optimizer = torch.optim.Adam([self._patch], lr=learning_rate)
        self.before = []

    def _random_overlay(self, images, patch, gs_coords, mask):
        row, col = gs_coords
        height, width = patch.shape[1:]
        padded = F.pad(patch, (col, images.shape[3] - col - width, row, images.shape[2] - row - height))
        return images * (1 - mask) + padded[None] * mask

    def _loss(self, images, target, gs_coords, mask):
        patched_input = self._random_overlay(images, self._patch, gs_coords, mask)
        patched_input = torch.clamp(patched_input, 0.0, 1.0)
        loss = self.estimator.compute_loss(x=patched_input, y=target)
        if self.targeted:
            loss = -loss
        return loss

    def _train_step(self, images, target, gs_coords, mask):
        self.estimator.model.zero_grad()
        loss = self._loss(images, target, gs_coords, mask)
        if self._patch.grad is not None:
            self.before.append(self._patch.grad.abs().max().item())
        loss.backward(retain_graph=True)

        if self._optimizer_string == "pgd":
            patch_grads = self._patch.grad
            patch_gradients = patch_grads.sign() * self.learning_rate
            with torch.no_grad():
                self._patch[:] = torch.clamp(self._patch + patch_gradients, min=0.0, max=1.0)
        else:
            self._optimizer.step()
            with torch.no_grad():
                self._patch[:] = torch.clamp(self._patch, min=0.0, max=1.0)
        return loss

    def generate(self, x, y, gs_coords):
        mask = torch.zeros_like(x[:, :1])
        row, col = gs_coords
        mask[:, :, row:row + self._patch.shape[1], col:col + self._patch.shape[2]] = 1.0
        for i_iter in range(self.max_iter):
            loss = self._train_step(images=x, target=y, gs_coords=gs_coords, mask=mask)
        return self._patch.detach(), loss.item()


# %%
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.Tanh(),
    nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.Tanh(),
    nn.Conv2d(16, 7, 3, padding=1),
).eval()
images = torch.rand(2, 3, 32, 32)
target = {'labels': torch.randint(0, 3, (2, 8, 8)), 'boxes': torch.rand(2, 4, 8, 8)}

# %%
attack = CARLAAdversarialPatchPyTorch(PyTorchObjectDetector(model))
patch, loss = attack.generate(images, target, gs_coords=(10, 12))
print(loss, attack.before[0], attack.before[-1])
