# https://github.com/shenweichen/DeepCTR-Torch/issues/90
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BaseModel(nn.Module):
    def __init__(self, vocabulary_size=50, l2_reg_embedding=1e-3):
        super(BaseModel, self).__init__()
        self.embedding_dict = nn.Embedding(vocabulary_size, 4)
        self.linear = nn.Linear(8, 1)
        self.reg_loss = self.add_regularization_loss(self.embedding_dict, l2_reg_embedding)

    def add_regularization_loss(self, module, weight_decay, p=2):
        reg_loss = torch.zeros((1,))
        for w in module.parameters():
            l2_reg = torch.norm(w, p=p)
            reg_loss = reg_loss + l2_reg
        return weight_decay * reg_loss

    def forward(self, x):
        return torch.sigmoid(self.linear(self.embedding_dict(x).flatten(1)))

    def fit(self, x, y, epochs=2):
        optim = torch.optim.Adam(self.parameters())
        for epoch in range(epochs):
            y_pred = self(x).squeeze(1)
            loss = F.binary_cross_entropy(y_pred, y, reduction='sum')
            total_loss = loss + self.reg_loss
            optim.zero_grad()
            total_loss.backward(retain_graph=True)
            optim.step()
            print(epoch, loss.item())


# %%
model = BaseModel()
model.fit(torch.randint(0, 50, (32, 2)), torch.randint(0, 2, (32,)).float())
