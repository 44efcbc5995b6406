# One batch through Lightning's Trainer: training_step, logging, configure_optimizers
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", ".*does not have many workers.*")
torch.manual_seed(0)


class LitClassifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()
        )
        self.norm = nn.BatchNorm1d(16)
        self.classifier = nn.Linear(16, 10)

    def forward(self, x):
        features = self.backbone(x).mean((2, 3))
        return self.classifier(self.norm(features))

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.log("train_loss", loss)
        self.log("train_acc", (logits.argmax(-1) == y).float().mean())
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


model = LitClassifier()
data = TensorDataset(torch.randn(8, 1, 16, 16), torch.randint(10, (8,)))
trainer = L.Trainer(
    fast_dev_run=True,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
# %% the recorded cell
trainer.fit(model, DataLoader(data, batch_size=8))
