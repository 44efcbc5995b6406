# https://github.com/DEEP-PolyU/KEQA_WSDM19/issues/2
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class EmbedVector(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 6)
        self.gru = nn.GRU(6, 5)
        self.attn = nn.Linear(11, 1)
        self.tail = nn.Linear(5, 4)

    def forward(self, text):
        x = self.embed(text)
        outputs, _ = self.gru(x.unsqueeze(1))
        outputs = outputs.squeeze(1)
        attn_weights = F.softmax(self.attn(torch.cat((x, outputs), 1)), dim=1)
        attn_applied = attn_weights * outputs
        return self.tail(attn_applied.sum(0))


model = EmbedVector()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
text, target = torch.randint(20, (7,)), torch.randn(4)
for epoch in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(model(text), target)
    loss.backward()
    optimizer.step()
    print(loss.item())
