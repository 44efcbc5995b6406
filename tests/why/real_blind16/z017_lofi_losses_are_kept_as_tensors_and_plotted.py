# https://github.com/jacbz/Lofi/issues/14
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
CHORD_PREDICTION_LENGTH, LATENT = 9, 16


class Lofi2LofiModel(nn.Module):
    def __init__(self, device):
        super(Lofi2LofiModel, self).__init__()
        self.device = device
        self.chord_embeddings = nn.Embedding(CHORD_PREDICTION_LENGTH, LATENT)
        self.encoder_lstm = nn.LSTM(LATENT, LATENT, batch_first=True)
        self.mean_linear = nn.Linear(LATENT, LATENT)
        self.variance_linear = nn.Linear(LATENT, LATENT)
        self.decoder_lstm = nn.LSTM(LATENT, LATENT, batch_first=True)
        self.chord_linear = nn.Linear(LATENT, CHORD_PREDICTION_LENGTH)

    def forward(self, chords_gt):
        embedded = self.chord_embeddings(chords_gt)
        _, (h, _) = self.encoder_lstm(embedded)
        mu, log_var = self.mean_linear(h[-1]), self.variance_linear(h[-1])
        z = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        kl = -0.5 * torch.mean(1 + log_var - mu.pow(2) - log_var.exp())
        out, _ = self.decoder_lstm(z.unsqueeze(1).expand(-1, chords_gt.shape[1], -1))
        return self.chord_linear(out), kl


class Axes:
    """stands for the axes of matplotlib"""

    def plot(self, x, y, label):
        print(label, np.asarray(x), np.asarray(y))


device = "cpu"
model = Lofi2LofiModel(device)
ce_loss = nn.CrossEntropyLoss(reduction='none')
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
dataset = [torch.randint(0, CHORD_PREDICTION_LENGTH, (4, 8)) for _ in range(6)]
train_dataloader, val_dataloader = dataset[:4], dataset[4:]
epochs = []
train_losses_chords, train_losses_kl = [], []
val_losses_chords, val_losses_kl = [], []


# losses for one batch of data
def compute_loss(chords_gt):
    pred_chords, kl = model(chords_gt)
    loss_chords = ce_loss(pred_chords.permute(0, 2, 1), chords_gt).mean()
    return loss_chords + kl, loss_chords, kl


# %%
for epoch in range(3):
    epochs.append(epoch)
    ep_train_losses_chords, ep_train_losses_kl = [], []
    ep_val_losses_chords, ep_val_losses_kl = [], []

    # TRAINING
    model.train()
    for batch, data in enumerate(train_dataloader):
        loss, loss_chords, kl_loss = compute_loss(data)
        ep_train_losses_chords.append(loss_chords)
        ep_train_losses_kl.append(kl_loss)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"\tBatch {batch}:\tLoss {loss.item():.3f} (C: {loss_chords:.3f} + KL: {kl_loss:.3f})")

    # VALIDATION
    model.eval()
    for batch, data in enumerate(val_dataloader):
        with torch.no_grad():
            loss, loss_chords, kl_loss = compute_loss(data)
            ep_val_losses_chords.append(loss_chords)
            ep_val_losses_kl.append(kl_loss)

    train_losses_chords.append(sum(ep_train_losses_chords) / len(ep_train_losses_chords))
    train_losses_kl.append(sum(ep_train_losses_kl) / len(ep_train_losses_kl))
    val_losses_chords.append(sum(ep_val_losses_chords) / len(ep_val_losses_chords))
    val_losses_kl.append(sum(ep_val_losses_kl) / len(ep_val_losses_kl))

    # Chords loss
    axs = Axes()
    axs.plot(epochs, train_losses_chords, label='Train')
    axs.plot(epochs, val_losses_chords, label='Val')
