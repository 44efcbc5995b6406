# https://github.com/gpleiss/temperature_scaling/issues/20
import torch
from torch import nn, optim

torch.manual_seed(0)


class ModelWithTemperature(nn.Module):
    """Wraps a model with temperature scaling; the model gives logits."""

    def __init__(self, model):
        super(ModelWithTemperature, self).__init__()
        self.model = model
        self.temperature = nn.Parameter(torch.ones(1) * 1.5)

    def forward(self, input):
        return self.temperature_scale(self.model(input))

    def temperature_scale(self, logits):
        temperature = self.temperature.unsqueeze(1).expand(logits.size(0), logits.size(1))
        return logits / temperature

    def set_temperature(self, valid_loader):
        nll_criterion = nn.CrossEntropyLoss()
        # First: collect all the logits and labels for the validation set
        logits_list, labels_list = [], []
        with torch.no_grad():
            for input, label in valid_loader:
                logits_list.append(self.model(input))
                labels_list.append(label)
        logits, labels = torch.cat(logits_list), torch.cat(labels_list)

        self.before_nll = nll_criterion(logits, labels).item()
        print('Before temperature - NLL: %.3f' % self.before_nll)

        # Next: optimize the temperature w.r.t. NLL
        optimizer = optim.LBFGS([self.temperature], lr=0.01, max_iter=50)

        def eval():
            loss = nll_criterion(self.temperature_scale(logits), labels)
            loss.backward()
            return loss
        optimizer.step(eval)

        self.after_nll = nll_criterion(self.temperature_scale(logits), labels).item()
        print('Optimal temperature: %.3f' % self.temperature.item())
        print('After temperature - NLL: %.3f' % self.after_nll)
        return self


# %%
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4))
centers = torch.randn(4, 6)


def sample(n):
    labels = torch.randint(4, (n,))
    return centers[labels] + torch.randn(n, 6), labels


train_x, train_y = sample(40)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(200):  # overfits, so that it is too sure of itself
    opt.zero_grad()
    nn.functional.cross_entropy(model(train_x), train_y).backward()
    opt.step()

# %%
valid_loader = [sample(50) for _ in range(4)]
model.eval()
scaled_model = ModelWithTemperature(model)
scaled_model.set_temperature(valid_loader)
