# https://github.com/Lightning-AI/pytorch-lightning/issues/4862
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MNISTModel(torch.nn.Module):

    def __init__(self):
        super(MNISTModel, self).__init__()
        self.l1 = torch.nn.Linear(28 * 28, 10)

    def forward(self, x):
        return torch.relu(self.l1(x.view(x.size(0), -1)))

    def training_step(self, batch, batch_nb):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        tensorboard_logs = {'train_loss': loss}
        return {'loss': loss, 'log': tensorboard_logs}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.02)


class Trainer:
    def __init__(self, max_epochs, progress_bar_refresh_rate):
        self.max_epochs, self.progress_bar_refresh_rate = max_epochs, progress_bar_refresh_rate
        self.running = []

    def fit(self, model, train_loader):
        optimizer = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            losses = []
            for batch_nb, batch in enumerate(train_loader):
                result = model.training_step(batch, batch_nb)
                optimizer.zero_grad()
                result['loss'].backward()
                optimizer.step()
                losses.append(result['log']['train_loss'].item())
            self.running.append(sum(losses) / len(losses))
            if epoch % self.progress_bar_refresh_rate == 0:
                print('Epoch %d: loss=%.3f' % (epoch, self.running[-1]))


def digits(n):
    rows = torch.arange(28.0)
    strokes = torch.rand(10, 4, 4) * 20 + 4
    y = torch.randint(0, 10, (n,))
    images = torch.zeros(n, 28, 28)
    for i, label in enumerate(y.tolist()):
        shift = torch.randn(2)
        for y0, x0, y1, x1 in strokes[label].tolist():
            for t in torch.linspace(0, 1, 8).tolist():
                cy, cx = y0 + t * (y1 - y0) + shift[0], x0 + t * (x1 - x0) + shift[1]
                images[i] = torch.maximum(images[i], torch.exp(-((rows[:, None] - cy) ** 2 + (rows[None] - cx) ** 2) / 2))
    return images[:, None], y


# %%
images, labels = digits(320)
train_loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True)

# %%
mnist_model = MNISTModel()
trainer = Trainer(max_epochs=30, progress_bar_refresh_rate=5)
trainer.fit(mnist_model, train_loader)

# %%
with torch.no_grad():
    outputs = mnist_model(images)
print(outputs.max(0).values)
print((outputs.argmax(1) == labels).float().mean())
