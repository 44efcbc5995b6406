# https://github.com/yunjey/pytorch-tutorial/blob/master/tutorials/01-basics/logistic_regression/main.py
import torch
import torch.nn as nn

torch.manual_seed(0)

# Hyper-parameters
input_size = 8 * 8
num_classes = 10
num_epochs = 5
batch_size = 100
learning_rate = 0.05

# Dataset (images and labels)
shapes = torch.rand(num_classes, 1, 8, 8)


def digits(n):
    labels = torch.randint(0, num_classes, (n,))
    return (shapes[labels] + 0.3 * torch.randn(n, 1, 8, 8)).clamp(0, 1), labels


train_dataset = torch.utils.data.TensorDataset(*digits(6000))
test_dataset = torch.utils.data.TensorDataset(*digits(1000))

# Data loader (input pipeline)
train_loader = torch.utils.data.DataLoader(dataset=train_dataset,
                                           batch_size=batch_size,
                                           shuffle=True)

test_loader = torch.utils.data.DataLoader(dataset=test_dataset,
                                          batch_size=batch_size,
                                          shuffle=False)

# %%
# Logistic regression model
model = nn.Linear(input_size, num_classes)

# Loss and optimizer
# nn.CrossEntropyLoss() computes softmax internally
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)

# %%
# Train the model
total_step = len(train_loader)
losses = []
for epoch in range(num_epochs):
    for i, (images, labels) in enumerate(train_loader):
        # Reshape images to (batch_size, input_size)
        images = images.reshape(-1, input_size)

        # Forward pass
        outputs = model(images)
        loss = criterion(outputs, labels)

        # Backward and optimize
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

        if (i + 1) % 30 == 0:
            print('Epoch [{}/{}], Step [{}/{}], Loss: {:.4f}'.format(epoch + 1, num_epochs, i + 1, total_step, loss.item()))

# %%
# Test the model
with torch.no_grad():
    correct = 0
    total = 0
    for images, labels in test_loader:
        images = images.reshape(-1, input_size)
        outputs = model(images)
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels).sum()

    accuracy = (correct / total).item()
    print('Accuracy of the model on the 1000 test images: {} %'.format(100 * accuracy))
assert accuracy > 0.85 and losses[-1] < 0.6 * losses[0]
