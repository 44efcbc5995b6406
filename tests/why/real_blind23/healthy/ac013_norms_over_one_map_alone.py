# https://github.com/prokia/drugVQA/issues/7
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


def conv3x3(in_channels, out_channels, stride=1):
    return nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, padding=1, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, in_channels, out_channels, downsample=None):
        super(ResidualBlock, self).__init__()
        self.conv1 = conv3x3(in_channels, out_channels)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.elu = nn.ELU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        residual = x
        out = self.bn1(self.conv1(x))
        if self.downsample:
            residual = self.downsample(x)
        out += residual
        out = self.elu(out)
        return out


class DrugVQA(torch.nn.Module):
    def __init__(self, batch_size=1, lstm_hid_dim=12, d_a=16, r=4, n_chars_smi=10, emb_dim=8):
        super(DrugVQA, self).__init__()
        self.embeddings = nn.Embedding(n_chars_smi, emb_dim)
        self.lstm = torch.nn.LSTM(emb_dim, lstm_hid_dim, 1, batch_first=True, bidirectional=True)
        self.linear_first = torch.nn.Linear(2 * lstm_hid_dim, d_a)
        self.linear_second = torch.nn.Linear(d_a, r)
        self.conv, self.bn, self.elu = conv3x3(1, 8), nn.BatchNorm2d(8), nn.ELU(inplace=False)
        self.layer1 = ResidualBlock(8, d_a, nn.Sequential(conv3x3(8, d_a), nn.BatchNorm2d(d_a)))
        self.linear_first_seq = torch.nn.Linear(d_a, d_a)
        self.linear_second_seq = torch.nn.Linear(d_a, r)
        self.linear_final_step = torch.nn.Linear(lstm_hid_dim * 2 + d_a, 32)
        self.linear_final = torch.nn.Linear(32, 1)
        self.batch_size, self.lstm_hid_dim, self.r = batch_size, lstm_hid_dim, r
        self.hidden_state = self.init_hidden()

    def init_hidden(self):
        return (torch.zeros(2, self.batch_size, self.lstm_hid_dim), torch.zeros(2, self.batch_size, self.lstm_hid_dim))

    def forward(self, x1, x2):
        outputs, self.hidden_state = self.lstm(self.embeddings(x1), self.hidden_state)
        x1 = F.softmax(self.linear_second(torch.tanh(self.linear_first(outputs))), dim=1)
        attention = x1.transpose(1, 2)
        avg_sentence_embeddings = torch.sum(attention @ outputs, 1) / self.r
        out = self.layer1(self.elu(self.bn(self.conv(x2))))
        o1 = torch.mean(out, 2).permute(0, 2, 1)
        x = F.softmax(self.linear_second_seq(torch.tanh(self.linear_first_seq(o1))), dim=1)
        avg_seq_embeddings = torch.sum(x.transpose(1, 2) @ o1, 1) / self.r
        sscomplex = torch.cat([avg_sentence_embeddings, avg_seq_embeddings], dim=1)
        return torch.sigmoid(self.linear_final(F.relu(self.linear_final_step(sscomplex)))), attention


def l2_matrix_norm(m):
    return torch.sum(torch.sum(torch.sum(m ** 2, 1), 1) ** 0.5)


# %%
pairs = []
for k in range(60):
    smiles, contact_map = torch.randint(0, 10, (1, 9)), (torch.rand(1, 1, 8, 8) < 0.3).float()
    has_ring, has_helix = torch.rand(2) < 0.5
    if has_ring:
        smiles[0, torch.randperm(9)[:3]] = 7
    else:
        smiles[smiles == 7] = 2
    if has_helix:
        contact_map[0, 0] = torch.maximum(contact_map[0, 0], torch.eye(8))
    pairs.append((smiles, contact_map, (has_ring & has_helix).float().view(1)))

# %%
attention_model = DrugVQA()
optimizer = torch.optim.Adam(attention_model.parameters(), lr=3e-3)
criterion = torch.nn.BCELoss()
losses, C = [], 0.03
for epoch in range(8):
    total_loss = 0.0
    for index in torch.randperm(40).tolist():
        smiles, contact_map, y = pairs[index]
        attention_model.hidden_state = attention_model.init_hidden()
        y_pred, att = attention_model(smiles, contact_map)
        identity = torch.eye(att.size(1))[None]
        penal = l2_matrix_norm(att @ att.transpose(1, 2) - identity)
        loss = criterion(y_pred.squeeze(1), y) + C * penal / smiles.size(0)
        total_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    losses.append(total_loss / 40)

# %%
all_pred = []
for smiles, contact_map, y in pairs[40:]:
    attention_model.hidden_state = attention_model.init_hidden()
    y_pred, att = attention_model(smiles, contact_map)
    all_pred.append((y_pred.item() > 0.5) == bool(y))
print(losses[0], losses[-1], sum(all_pred) / len(all_pred))
