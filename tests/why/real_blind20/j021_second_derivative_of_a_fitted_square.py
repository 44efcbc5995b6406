# https://discuss.pytorch.org/t/derivative-of-models-output-with-respect-to-its-input/90767
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)

# %%
# Create dataset
N = 2000
x = np.random.uniform(-50, 50, N)
y = x**2

X_train = torch.tensor(x.reshape(-1, 1), dtype=torch.float).view(-1, 1)
y_train = torch.tensor(y.reshape(-1, 1), dtype=torch.float).view(-1, 1)

# Device configuration
device = torch.device('cpu')

# %%
# Hyper-parameters
input_size = 1
hidden_size = 100
num_epochs = 20
batch_size = 250

learning_rate = 10e-3

# Data loader
train_dataset = torch.utils.data.TensorDataset(X_train, y_train)
train_loader = torch.utils.data.DataLoader(dataset=train_dataset,
                                           batch_size=batch_size,
                                           shuffle=False)


# %%
# Fully connected neural network with 2 hidden layer
class NeuralNet(nn.Module):
    def __init__(self, input_size, hidden_size):
        super(NeuralNet, self).__init__()
        self.fc1 = nn.Linear(input_size, hidden_size)
        self.relu = nn.ReLU()
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.last = nn.Linear(hidden_size, 1)

    def forward(self, x):
        out = self.fc1(x)
        out = self.relu(out)
        out = self.fc2(out)
        out = self.relu(out)
        out = self.last(out)
        out = self.relu(out)
        return (out)

    def u(self, features):
        u = self.forward(features)
        return (u)


model = NeuralNet(input_size, hidden_size).to(device)

# %%
# Loss and optimizer
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)

# Train the model
for epoch in range(num_epochs):
    for i, (features, target) in enumerate(train_loader):
        features = features.to(device)
        target = target.to(device)

        # Forward pass
        outputs = model(features)
        loss = criterion(outputs, target)

        # Backward and optimize
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if (epoch + 1) % 5 == 0:
        print('Epoch [{}/{}], Loss: {:.4f}'.format(epoch + 1, num_epochs, loss.item()))

# %%
x_test = torch.linspace(-40., 40., 9).view(-1, 1).requires_grad_(True)
u = model.u(x_test)
u_x = torch.autograd.grad(u, x_test, grad_outputs=torch.ones_like(u), create_graph=True)[0]
u_xx = torch.autograd.grad(u_x, x_test, grad_outputs=torch.ones_like(u_x), create_graph=True)[0]
print(torch.cat([x_test, u, u_x, u_xx], dim=1).detach())
