# https://discuss.pytorch.org/t/learning-to-transform-cnn-filter-weights/127906
import torch
import torch.nn as nn
import torch.nn.functional as F


# define models
class CNN(nn.Module):
    def __init__(self):
        super(CNN, self).__init__()
        self.conv = nn.Conv2d(1, 1, 3)

    def forward(self, x):
        return self.conv(x)


class TransformationNet(nn.Module):
    def __init__(self):
        super(TransformationNet, self).__init__()
        self.linear = nn.Linear(10, 9, bias=False)

    def forward(self, x, param):
        x = torch.cat([x, param], dim=1)
        return self.linear(x)


model_cnn = CNN()
# Since we are changing the CNN filter weights while training,
# the copy is used to keep the original pre-trained model.
model_cnn_copy = CNN()
model_cnn_copy.load_state_dict(model_cnn.state_dict())

model_transformation = TransformationNet()
model_transformation.train()

# only optimize the model for transforming the filters
optimizer_model_transformation = torch.optim.SGD(model_transformation.parameters(), lr=0.1, momentum=0.9)

# %%
# training loop
for i in range(2):
    B = 1  # batch size
    image = torch.ones((B, 1, 3, 3))  # some input

    # update the CNN using the model for transforming the filters
    angle = torch.tensor([[1.0]])
    filters = model_cnn_copy.conv.weight.data.view(B, -1)
    model_cnn.conv.weight.data = model_transformation(filters, angle).view((B, 1, 3, 3))

    # forward pass
    output = model_cnn(image)

    # calculate loss
    target = torch.zeros((B, 1, 1, 1))
    loss = F.mse_loss(output, target)

    optimizer_model_transformation.zero_grad()
    loss.backward()
    optimizer_model_transformation.step()

# %%
print(model_cnn.conv.weight.grad)
print(model_transformation.linear.weight.grad)
