# https://github.com/LINCellularNeuroscience/VAME/issues/26
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)


class RNN_VAE(nn.Module):
    def __init__(self, NUM_FEATURES, ZDIMS, hidden):
        super(RNN_VAE, self).__init__()
        self.encoder = nn.GRU(NUM_FEATURES, hidden, batch_first=True)
        self.mean = nn.Linear(hidden, ZDIMS)
        self.logvar = nn.Linear(hidden, ZDIMS)
        self.decoder = nn.GRU(ZDIMS, hidden, batch_first=True)
        self.out = nn.Linear(hidden, NUM_FEATURES)

    def forward(self, seq):
        _, h_n = self.encoder(seq)
        mu, logvar = self.mean(h_n[-1]), self.logvar(h_n[-1])
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        dec, _ = self.decoder(z.unsqueeze(1).repeat(1, seq.size(1), 1))
        return self.out(dec), mu, logvar


def train(train_loader, epoch, model, optimizer, scheduler):
    model.train()
    train_loss = 0.0
    for data in train_loader:
        data_tilde, mu, logvar = model(data)
        rec_loss = nn.functional.mse_loss(data_tilde, data, reduction='sum')
        kl_loss = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = rec_loss + 0.1 * kl_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    scheduler.step()
    print('Train loss: {:.3f}'.format(train_loss / len(train_loader)))


# %%
EPOCHS, LEARNING_RATE, STEP_SIZE = 8, 5e-4, 5
optimizer_scheduler = 0
train_loader = [torch.randn(8, 10, 6) for _ in range(2)]
model = RNN_VAE(NUM_FEATURES=6, ZDIMS=4, hidden=16)
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, amsgrad=True)
if optimizer_scheduler:
    scheduler = StepLR(optimizer, step_size=STEP_SIZE, gamma=0.2, last_epoch=-1)
else:
    scheduler = StepLR(optimizer, step_size=STEP_SIZE, gamma=0, last_epoch=-1)

# %%
weights = []
for epoch in range(1, EPOCHS):
    print('Epoch: %d' % epoch)
    train(train_loader, epoch, model, optimizer, scheduler)
    weights.append(model.out.weight.detach().clone())
