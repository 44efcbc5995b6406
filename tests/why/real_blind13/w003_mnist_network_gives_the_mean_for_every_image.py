# https://whosebug.com/index.php/question/6116914/neural-network-trained-with-PyTorch-outputs-the-mean-value-for-every-input
import torch

torch.manual_seed(0)


class Net(torch.nn.Module):

    def __init__(self):
        super(Net, self).__init__()
        self.layer1 = torch.nn.Linear(64, 200)
        self.layer2 = torch.nn.Linear(200, 10)

    def forward(self, x):
        x = torch.sigmoid(self.layer1(x))
        x = torch.sigmoid(self.layer2(x))
        return x


class Digits:
    """Ten kinds of pictures with noise."""

    def __init__(self):
        self.kinds = (torch.rand(10, 8, 8) > 0.5).float()

    def batch(self, size):
        labels = torch.randint(0, 10, (size,))
        images = self.kinds[labels] + 0.2 * torch.randn(size, 8, 8)
        return images, labels


batch_size = 32
digits = Digits()
training_loader = [digits.batch(batch_size) for _ in range(100)]
test_images = digits.batch(20)[0].flatten(1)

# %%
net = Net()
loss_function = torch.nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)

for images, labels in training_loader:
    optimizer.zero_grad()
    for i in range(batch_size):
        output = net(torch.flatten(images[i]))
        desired_output = torch.tensor([float(j == labels[i]) for j in range(10)])
        loss = loss_function(output, desired_output)
        loss.backward()
    optimizer.step()

with torch.no_grad():
    print(net(test_images)[:3])
