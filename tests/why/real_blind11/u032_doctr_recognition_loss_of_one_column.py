# https://github.com/mindee/doctr/pull/379
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SAR(nn.Module):
    def __init__(self, vocab_size=20, max_length=8, rnn_units=32):
        super().__init__()
        self.vocab_size, self.max_length = vocab_size, max_length
        self.feat_extractor = nn.Conv2d(3, 16, 3, padding=1)
        self.encoder = nn.LSTM(16, rnn_units, batch_first=True)
        self.decoder = nn.LSTM(rnn_units, rnn_units, batch_first=True)
        self.output_dense = nn.Linear(rnn_units, vocab_size + 1)

    def forward(self, x, target=None, seq_len=None):
        features = torch.relu(self.feat_extractor(x)).mean(2).transpose(1, 2)
        encoded, _ = self.encoder(features)
        repeated = encoded[:, -1:].expand(-1, self.max_length + 1, -1)
        decoded, _ = self.decoder(repeated)
        logits = self.output_dense(decoded)
        out = {}
        if target is not None:
            out['loss'] = self.compute_loss(logits, target, seq_len)
        return out

    @staticmethod
    def compute_loss(model_output, gt, seq_len):
        # Input length : number of timesteps
        input_len = model_output.shape[1]
        # Add one for additional <eos> token
        seq_len = seq_len + 1
        # Compute loss
        cce = F.cross_entropy(model_output.permute(0, 2, 1), gt, reduction='none')
        # Compute mask
        mask_2d = torch.arange(input_len)[None, :] > seq_len[:, None]
        cce[mask_2d] = 0
        ce_loss = cce.sum(1) / seq_len.to(dtype=torch.float32)
        return ce_loss.unsqueeze(1)


# %%
model = SAR()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
images = torch.rand(4, 3, 16, 32)
gt, seq_len = torch.randint(0, 20, (4, 9)), torch.tensor([3, 8, 5, 6])

# %%
model.train()
for batch in range(2):
    train_loss = model(images, gt, seq_len)['loss']
    optimizer.zero_grad()
    train_loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5)
    optimizer.step()
    print(batch, train_loss.item())
