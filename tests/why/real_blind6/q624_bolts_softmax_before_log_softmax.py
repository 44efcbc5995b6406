# https://github.com/Lightning-Universe/lightning-bolts/issues/654
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(0)


class LogisticRegression(nn.Module):
    """Logistic regression model."""

    def __init__(self, input_dim, num_classes, bias=True, learning_rate=0.1):
        super().__init__()
        self.learning_rate = learning_rate
        self.linear = nn.Linear(in_features=input_dim, out_features=num_classes, bias=bias)

    def forward(self, x):
        y_hat = self.linear(x)
        y_hat = F.softmax(y_hat, dim=1)
        return y_hat

    def training_step(self, batch, batch_idx):
        x, y = batch
        x = x.view(x.size(0), -1)
        y_hat = self.forward(x)
        # PyTorch cross_entropy function combines log_softmax and nll_loss in single function
        loss = F.cross_entropy(y_hat, y, reduction="mean")
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.learning_rate)


# %%
centres = torch.tensor([[4., 0.], [-4., 4.], [-4., -4.]])
y = torch.randint(0, 3, (120,))
x = centres[y] + 0.3 * torch.randn(120, 2)

model = LogisticRegression(2, 3)
optimizer = model.configure_optimizers()

# %%
for epoch in range(200):
    optimizer.zero_grad()
    loss = model.training_step((x, y), epoch)
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        print(epoch, loss.item())
print(loss.item())
