# https://discuss.pytorch.org/t/how-to-create-a-trainable-customized-convolutional-layer/108964
import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)


class MyModel(nn.Module):
    def __init__(self):
        super(MyModel, self).__init__()
        # in my later experiment there might be multiple parameters,
        # so I made the generate_parameters() function
        a, b = self.generate_parameters()
        self.conv = nn.Conv2d(1, 1, 2, bias=False)

        kernel = self.generate_kernel(a, b)
        self.conv.weight = nn.Parameter(kernel)

    def forward(self, x):
        x = self.conv(x)
        return x

    def generate_parameters(self):
        a = nn.Parameter(torch.zeros(1, 1))
        b = nn.Parameter(torch.zeros(1, 1))
        return a, b

    def generate_kernel(self, a, b):
        return torch.tensor([[[[a+b, a-b], [a-b, a+b]]]])


# %%
model = MyModel()
criterion = nn.MSELoss()
optimizer = optim.SGD(model.parameters(), lr=0.1)

inputs, labels = torch.tensor([[[[1.0, 0], [0, 0]]]]), torch.tensor([[2.0]])

for epoch in range(10):  # loop over the dataset multiple times
    print("epoch:", epoch)
    for param in model.parameters():
        print(param.data, param.size())

    # zero the parameter gradients
    optimizer.zero_grad()

    # forward + backward + optimize
    outputs = model(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()
