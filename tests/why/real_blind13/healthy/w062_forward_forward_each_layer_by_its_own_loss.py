# https://github.com/loeweX/Forward-Forward/issues/3
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
N_CLASSES, N_PIXELS = 4, 28


class ReLUFullGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        # the gradient goes through, whatever the sign of the input
        return grad_output.clone()


class FFModel(nn.Module):
    def __init__(self, hidden=64, num_layers=3):
        super().__init__()
        sizes = [N_CLASSES + N_PIXELS] + [hidden] * num_layers
        self.model = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
        self.ff_loss = nn.BCEWithLogitsLoss()
        self.linear_classifier = nn.Linear(hidden * (num_layers - 1), N_CLASSES, bias=False)
        self.classification_loss = nn.CrossEntropyLoss()
        for layer in self.model:
            nn.init.normal_(layer.weight, std=1 / math.sqrt(layer.weight.shape[0]))
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.linear_classifier.weight)

    def _layer_norm(self, z, eps=1e-8):
        return z / (z.pow(2).mean(-1, keepdim=True).sqrt() + eps)

    def forward(self, pos, neg, neutral, class_labels):
        outputs = {'Loss': torch.zeros(1)}
        z = self._layer_norm(torch.cat([pos, neg]))
        posneg_labels = torch.cat([torch.ones(len(pos)), torch.zeros(len(neg))])
        for idx, layer in enumerate(self.model):
            z = ReLUFullGrad.apply(layer(z))
            logits = z.pow(2).sum(-1) - z.shape[1]
            outputs[f'loss_layer_{idx}'] = self.ff_loss(logits, posneg_labels)
            outputs['Loss'] += outputs[f'loss_layer_{idx}']
            z = self._layer_norm(z.detach())
        features = []
        with torch.no_grad():
            z = self._layer_norm(neutral)
            for idx, layer in enumerate(self.model):
                z = self._layer_norm(ReLUFullGrad.apply(layer(z)))
                if idx >= 1:
                    features.append(z)
        output = self.linear_classifier(torch.cat(features, -1))
        outputs['Loss'] += self.classification_loss(output, class_labels)
        outputs['accuracy'] = (output.argmax(1) == class_labels).float().mean()
        return outputs


def draw_batch(prototypes, n=64):
    y = torch.randint(0, N_CLASSES, (n,))
    image = prototypes[y] + 0.4 * torch.randn(n, N_PIXELS)
    wrong = (y + torch.randint(1, N_CLASSES, (n,))) % N_CLASSES
    code = torch.eye(N_CLASSES) * 3
    neutral = torch.full((n, N_CLASSES), 3 / N_CLASSES)
    return torch.cat([code[y], image], 1), torch.cat([code[wrong], image], 1), torch.cat([neutral, image], 1), y


# %%
opt_model = FFModel()
optimizer = torch.optim.SGD([{'params': opt_model.model.parameters(), 'lr': 2e-3, 'weight_decay': 3e-4},
                             {'params': opt_model.linear_classifier.parameters(), 'lr': 0.1}], momentum=0.9)
prototypes = torch.randn(N_CLASSES, N_PIXELS)
history = []

# %%
for step in range(300):
    optimizer.zero_grad()
    scalar_outputs = opt_model(*draw_batch(prototypes))
    scalar_outputs['Loss'].backward()
    optimizer.step()
    history.append([scalar_outputs[f'loss_layer_{i}'].item() for i in range(3)])
print(history[0], history[-1], scalar_outputs['accuracy'].item())
assert all(last < first for first, last in zip(history[0], history[-1]))
assert scalar_outputs['accuracy'] > 0.8
assert all(p.grad is not None for p in opt_model.parameters())
