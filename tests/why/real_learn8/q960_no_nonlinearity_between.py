# https://discuss.pytorch.org/t/unable-to-learn-xor-representation-using-2-layers-of-multi-layered-perceptron-mlp/13287
import torch
from torch import nn, optim

torch.manual_seed(0)
X = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
Y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
input_dim, output_dim = 2, 1
hidden_dim = 5
model = nn.Sequential(
    nn.Linear(input_dim, hidden_dim),
    nn.Linear(hidden_dim, output_dim),
    nn.Sigmoid(),
)
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
for _e in range(300):
    optimizer.zero_grad()
    predictions = model(X)
    loss = criterion(predictions, Y)
    loss.backward()
    optimizer.step()
print(loss.item(), predictions)
