# https://github.com/facebookresearch/DomainBed/issues/50
import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class IGA(nn.Module):
    """Inter-environmental Gradient Alignment"""

    def __init__(self, input_dim, num_classes, hparams):
        super(IGA, self).__init__()
        self.hparams = hparams
        self.featurizer = nn.Sequential(nn.Linear(input_dim, 16), nn.ReLU())
        self.classifier = nn.Linear(16, num_classes)
        self.network = nn.Sequential(self.featurizer, self.classifier)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=self.hparams["lr"])

    def update(self, minibatches):
        total_loss = 0
        grads = []
        for i, (x, y) in enumerate(minibatches):
            logits = self.network(x)
            env_loss = F.cross_entropy(logits, y)
            total_loss += env_loss
            grads.append(autograd.grad(env_loss, self.network.parameters(), retain_graph=True))

        mean_loss = total_loss / len(minibatches)
        mean_grad = autograd.grad(mean_loss, self.network.parameters(), retain_graph=True)

        # compute trace penalty
        penalty_value = 0
        for grad in grads:
            for g, mean_g in zip(grad, mean_grad):
                penalty_value += (g - mean_g).pow(2).sum()

        self.optimizer.zero_grad()
        (mean_loss + self.hparams['penalty'] * penalty_value).backward()
        self.optimizer.step()
        return mean_loss, penalty_value


# %%
algorithm = IGA(6, 3, {"lr": 1e-3, "penalty": 1000.0})
for step in range(5):
    minibatches = [(torch.randn(16, 6) + e, torch.randint(0, 3, (16,))) for e in range(3)]
    mean_loss, penalty_value = algorithm.update(minibatches)
    print(step, mean_loss.item(), penalty_value.item())
