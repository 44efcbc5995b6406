# https://github.com/illiterate/BertClassifier/issues/2
import torch
import torch.nn as nn


class BertClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bert = nn.Linear(4, 8)
        self.classifier = nn.Linear(8, 2)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x):
        logits = self.classifier(torch.tanh(self.bert(x)))
        return self.softmax(logits)


model = BertClassifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
label = torch.arange(32) % 2
x = torch.randn(32, 4) + 4 * (label[:, None] - 0.5)

# %%
for epoch in range(200):
    output = model(x)
    loss = criterion(output, label)
    model.zero_grad()
    loss.backward()
    optimizer.step()

# %%
print(loss)
