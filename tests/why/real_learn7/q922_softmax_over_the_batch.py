# https://github.com/perone/euclidesdb/issues/2
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(10, 16)
        self.classifier = nn.Linear(16, 4)

    def forward(self, x):
        features = torch.relu(self.features(x))
        predictions = F.softmax(self.classifier(features), dim=0)
        return predictions, features


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

# %%
for step in range(5):
    x, y = torch.randn(32, 10), torch.randint(4, (32,))
    predictions, _ = model(x)
    loss = F.nll_loss(torch.log(predictions + 1e-8), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), predictions.sum(1)[0].item())
