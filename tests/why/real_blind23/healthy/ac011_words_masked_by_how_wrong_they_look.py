# https://github.com/hiyoung123/SoftMaskedBert/issues/15
import torch
import torch.nn as nn
from torch.optim import Adam

torch.manual_seed(0)

VOCAB, HIDDEN, MASK = 24, 32, 1


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.word = nn.Embedding(VOCAB, HIDDEN, padding_idx=0)
        self.position = nn.Embedding(16, HIDDEN)

    def forward(self, input_ids):
        return self.word(input_ids) + self.position(torch.arange(input_ids.shape[1]))


class DetectionNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(HIDDEN, HIDDEN // 2, batch_first=True, bidirectional=True)
        self.linear = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        return torch.sigmoid(self.linear(self.rnn(x)[0]))


class SoftMaskedBert(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = Embeddings()
        self.detector = DetectionNetwork()
        layer = nn.TransformerEncoderLayer(HIDDEN, 4, 64, dropout=0.0, batch_first=True)
        self.corrector = nn.TransformerEncoder(layer, 1)
        self.linear = nn.Linear(HIDDEN, VOCAB)
        self.softmax = nn.LogSoftmax(dim=2)

    def forward(self, input_ids):
        e = self.embedding(input_ids)
        p = self.detector(e)
        e_mask = self.embedding(torch.full_like(input_ids, MASK))
        e_ = p * e_mask + (1 - p) * e
        h = self.corrector(e_) + e
        return self.softmax(self.linear(h)), p


class SoftMaskedBertTrainer:
    def __init__(self, lr=3e-3, gama=0.8):
        self.model = SoftMaskedBert()
        self.optim = Adam(self.model.parameters(), lr=lr, betas=(0.9, 0.999), weight_decay=0.0001)
        self.criterion_c = nn.NLLLoss()
        self.criterion_d = nn.BCELoss()
        self.gama = gama

    def iteration(self, data_loader, train=True):
        avg_loss, total_correct, total_element = 0.0, 0, 0
        self.model.train(train)
        for random_text, origin_text, label in data_loader:
            out, prob = self.model(random_text)
            prob = prob.reshape(-1, prob.shape[1])
            loss_d = self.criterion_d(prob, label.float())
            loss_c = self.criterion_c(out.transpose(1, 2), origin_text)
            loss = self.gama * loss_c + (1 - self.gama) * loss_d
            if train:
                self.optim.zero_grad()
                loss.backward(retain_graph=True)
                self.optim.step()
            avg_loss += loss.item()
            total_correct += out.argmax(dim=-1).eq(origin_text).sum().item()
            total_element += label.nelement()
        return avg_loss / len(data_loader), total_correct / total_element


# %%
start = torch.randint(0, 22, (256, 1))
origin_text = (start + torch.arange(10)) % 22 + 2
label = torch.rand(256, 10) < 0.15
random_text = torch.where(label, torch.randint(2, VOCAB, (256, 10)), origin_text)
label = (random_text != origin_text).long()
dataset = torch.utils.data.TensorDataset(random_text, origin_text, label)
train_data = torch.utils.data.DataLoader(torch.utils.data.Subset(dataset, range(224)), batch_size=32, shuffle=True)
val_data = torch.utils.data.DataLoader(torch.utils.data.Subset(dataset, range(224, 256)), batch_size=32)

# %%
trainer = SoftMaskedBertTrainer()
history = []
for e in range(20):
    train_loss, train_acc = trainer.iteration(train_data)
    val_loss, val_acc = trainer.iteration(val_data, train=False)
    history.append((train_loss, val_loss))
print(history[0], history[-1], val_acc)
