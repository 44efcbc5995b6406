# https://github.com/york135/CTC_CE_for_AST/issues/3
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class CTC_CE_loss(nn.Module):
    def __init__(self, device):
        super(CTC_CE_loss, self).__init__()
        self.onset_criterion = nn.BCELoss(reduction='none')
        self.offset_criterion = nn.BCELoss(reduction='none')
        self.octave_criterion = nn.CrossEntropyLoss(ignore_index=100)
        self.pitch_criterion = nn.CrossEntropyLoss(ignore_index=100)
        self.device = device

    def forward(self, batch, model_output, total_split_loss):
        on_off_logits_sm, pitch_octave_logits, pitch_class_logits = model_output

        onset_logits = on_off_logits_sm[:, :, 1]
        offset_logits = on_off_logits_sm[:, :, 2]

        # To avoid numirical instability
        onset_logits = torch.clip(onset_logits, min=1e-7, max=1 - 1e-7)
        offset_logits = torch.clip(offset_logits, min=1e-7, max=1 - 1e-7)

        onset_prob = batch[2][:, :, 0].float().to(self.device)
        offset_prob = batch[2][:, :, 1].float().to(self.device)
        pitch_octave = batch[2][:, :, 2].long().to(self.device)
        pitch_class = batch[2][:, :, 3].long().to(self.device)

        on_weight = batch[1][0][0:1].float().to(self.device)
        off_weight = batch[1][0][1:2].float().to(self.device)

        split_train_loss0 = torch.dot(self.onset_criterion(onset_logits, onset_prob)[0], on_weight[0]) / torch.sum(on_weight)
        split_train_loss1 = torch.dot(self.offset_criterion(offset_logits, offset_prob)[0], off_weight[0]) / torch.sum(off_weight)
        split_train_loss2 = self.octave_criterion(pitch_octave_logits.permute(0, 2, 1), pitch_octave)
        split_train_loss3 = self.pitch_criterion(pitch_class_logits.permute(0, 2, 1), pitch_class)

        total_split_loss[0] = total_split_loss[0] + split_train_loss0.item()
        total_split_loss[1] = total_split_loss[1] + split_train_loss1.item()
        total_split_loss[2] = total_split_loss[2] + split_train_loss2.item()
        total_split_loss[3] = total_split_loss[3] + split_train_loss3.item()

        # You can try to add weights to different loss terms here!
        return split_train_loss0 + split_train_loss1 + split_train_loss2 + split_train_loss3


class SeqDataset(Dataset):
    def __init__(self, songs, frames=40, dim=24):
        self.items = []
        for notes in songs:
            label = np.zeros((frames, 4))
            label[:, 2], label[:, 3] = 4, 12
            weight = np.zeros((2, frames))
            for onset, offset, pitch in notes:
                label[onset, 0], label[offset, 1] = 1, 1
                label[onset:offset, 2], label[onset:offset, 3] = pitch // 12, pitch % 12
                weight[0, max(onset - 5, 0):onset + 6] = 1
                weight[1, max(offset - 5, 0):offset + 6] = 1
            self.items.append((torch.randn(frames, dim), torch.tensor(weight), torch.tensor(label)))

    def __getitem__(self, idx):
        return self.items[idx]

    def __len__(self):
        return len(self.items)


class OnsetAndPitch(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, 3 + 5 + 13)

    def forward(self, x):
        out = self.head(self.rnn(x)[0])
        return torch.softmax(out[..., :3], dim=-1), out[..., 3:8], out[..., 8:]


# %%
songs = [[(3, 9, 25), (12, 20, 30)], [(5, 30, 14)], [(1, 7, 40), (22, 35, 38)], []]
device = 'cpu'
model = OnsetAndPitch().to(device)
criterion = CTC_CE_loss(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.999))
train_loader = DataLoader(SeqDataset(songs), batch_size=1, shuffle=False)

# %%
for epoch in range(1, 2):
    model.train()
    total_training_loss = 0
    total_split_loss = np.zeros(4)
    for batch_idx, batch in enumerate(train_loader):
        model_output = model(batch[0].to(device))
        loss = criterion(batch, model_output, total_split_loss)
        total_training_loss += loss.item()
        loss.backward()
        # Clip gradient to avoid gradient exploding
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
    print('split train loss: onset {:.4f} offset {:.4f} pitch octave {:.4f} pitch chroma {:.4f}'.format(*total_split_loss / len(train_loader)))
