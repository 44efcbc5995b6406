# https://discuss.pytorch.org/t/unable-to-learn-xor-representation-using-2-layers-of-multi-layered-perceptron-mlp/13287
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
X = torch.tensor([[0., 0.], [0., 1.], [1., 0.], [1., 1.]])
Y = torch.tensor([[0.], [1.], [1.], [0.]])

# %%
input_dim, hidden_dim, output_dim = 2, 5, 1
model = nn.Sequential(nn.Linear(input_dim, hidden_dim),
                      nn.Linear(hidden_dim, output_dim),
                      nn.Sigmoid())
criterion = nn.MSELoss()
learning_rate = 0.3
optimizer = optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
num_epochs = 1500

# %%
for i in range(num_epochs):
    optimizer.zero_grad()
    predictions = model(X)
    loss_this_epoch = criterion(predictions, Y)
    loss_this_epoch.backward()
    optimizer.step()
print([float(p.round()) for p in predictions], loss_this_epoch.item())
