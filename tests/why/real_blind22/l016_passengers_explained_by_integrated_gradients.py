# https://github.com/meta-pytorch/captum/issues/1571
import torch
import torch.nn as nn

torch.manual_seed(0)


class TitanicDNNModel(nn.Module):
    def __init__(self, num_sex, num_embarked, num_pclass, embedding_dim=4):
        super(TitanicDNNModel, self).__init__()

        # Embedding layers
        self.sex_embedding = nn.Embedding(num_sex, embedding_dim)
        self.embarked_embedding = nn.Embedding(num_embarked, embedding_dim)
        self.pclass_embedding = nn.Embedding(num_pclass, embedding_dim)

        # FC layers
        self.fc_input_dim = embedding_dim * 3 + 3
        self.fc1 = nn.Linear(self.fc_input_dim, 64)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(64, 32)
        self.relu2 = nn.ReLU()
        self.fc3 = nn.Linear(32, 2)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, sex, embarked, pclass, age, parch, fare):
        # Embed categorical features
        sex_emb = self.sex_embedding(sex.long()).view(sex.size(0), -1)
        embarked_emb = self.embarked_embedding(embarked.long()).view(embarked.size(0), -1)
        pclass_emb = self.pclass_embedding(pclass.long()).view(pclass.size(0), -1)

        x = torch.cat([sex_emb, embarked_emb, pclass_emb, age.view(-1, 1), parch.view(-1, 1), fare.view(-1, 1)], dim=1)
        x = self.relu1(self.fc1(x))
        x = self.relu2(self.fc2(x))
        return self.softmax(self.fc3(x))


class IntegratedGradients:
    def __init__(self, forward_func):
        self.forward_func = forward_func

    def attribute(self, inputs, target, n_steps=50):
        totals = [torch.zeros_like(i) for i in inputs]
        for k in range(1, n_steps + 1):
            scaled = tuple((i * k / n_steps).requires_grad_() for i in inputs)
            output = self.forward_func(*scaled)[:, target]
            grads = torch.autograd.grad(torch.unbind(output), scaled)
            totals = [t + g for t, g in zip(totals, grads)]
        return tuple(i * t / n_steps for i, t in zip(inputs, totals))


# %%
n = 200
sex = torch.randint(0, 2, (n,)).float()
embarked = torch.randint(0, 3, (n,)).float()
pclass = torch.randint(0, 3, (n,)).float()
age, parch, fare = torch.randn(n), torch.randn(n), torch.randn(n)
survived = ((sex + 0.5 * fare - 0.5 * pclass + 0.3 * torch.randn(n)) > 0).long()

model = TitanicDNNModel(2, 3, 3)
criterion = nn.NLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(60):
    optimizer.zero_grad()
    output = model(sex, embarked, pclass, age, parch, fare)
    loss = criterion(torch.log(output + 1e-8), survived)
    loss.backward()
    optimizer.step()
print(loss.item())

# %%
model.eval()
ig = IntegratedGradients(model)
inputs = (sex, embarked, pclass, age, parch, fare)
attributions = ig.attribute(inputs, target=1)
print([a.abs().mean().item() for a in attributions])
