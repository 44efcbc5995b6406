# https://discuss.pytorch.org/t/parameters-with-requires-grad-false-are-updated-during-training/90096
import torch
import torch.nn as nn

torch.manual_seed(0)


class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(10, 8)
        self.classifier = nn.Linear(8, 3)

    def forward(self, x):
        return self.classifier(torch.relu(self.features(x)))


def train(model, optimizer, steps):
    for _ in range(steps):
        x, y = torch.randn(16, 10), torch.randint(0, 3, (16,))
        optimizer.zero_grad(set_to_none=False)
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss


# %%
model = MyModel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
train(model, optimizer, 5)

# %%
# freeze the features, go on with the classifier
for param in model.features.parameters():
    param.requires_grad = False
frozen_at = model.features.weight.detach().clone()
loss = train(model, optimizer, 5)
print((model.features.weight - frozen_at).abs().max())
